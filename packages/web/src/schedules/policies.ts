/** What the policies of a schedule mean, in words. */
import { type CatchUpPolicy, type FollowPolicy, mostCaughtUp, type OverlapPolicy } from "@millrace/contract";

/** The short name of a policy, and what it does. */
type Told<P extends string> = Readonly<Record<P, readonly [string, string]>>;

export const overlaps: Told<OverlapPolicy> = {
  skip: ["Skip", "A tick that is due while the last run is still active starts no run."],
  wait: [
    "Wait",
    "A tick that is due while the last run is still active starts a run when it has ended. At most one tick waits.",
  ],
  allow: ["Run at the same time", "Every tick starts a run, even if the last run is still active."],
};

export const catchUps: Told<CatchUpPolicy> = {
  one: ["One run", "After an outage, one run makes up for all ticks that were missed."],
  none: ["None", "Ticks that were missed during an outage start no run."],
  all: ["All", `After an outage, every missed tick gets a run, at most the newest ${mostCaughtUp}.`],
};

export const follows: Told<FollowPolicy> = {
  none: ["Its own scripts", "Every run uses the scripts that the schedule was created with."],
  latest: ["The newest scripts", "Before each run the schedule takes the newest script that created each dataset."],
};
