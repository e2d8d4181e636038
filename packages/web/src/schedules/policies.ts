/** What the policies of a schedule mean, in words. */
import { type CatchUpPolicy, type FollowPolicy, mostCaughtUp, type OverlapPolicy } from "@millrace/contract";

/** The short name of a policy, and what it does. */
type Told<P extends string> = Readonly<Record<P, readonly [string, string]>>;

export const overlaps: Told<OverlapPolicy> = {
  skip: ["Skip", "A run that is due while the last one is still active is left out."],
  wait: [
    "Wait",
    "A run that is due while the last one is still active starts when that has ended. At most one run waits.",
  ],
  allow: ["Run at the same time", "Every run starts when it is due, even if the last one is still active."],
};

export const catchUps: Told<CatchUpPolicy> = {
  one: ["One run", "One run makes up for all that were missed."],
  none: ["None", "Missed runs are left out."],
  all: ["All", `Every missed run is made up, at most the newest ${mostCaughtUp}.`],
};

export const follows: Told<FollowPolicy> = {
  none: ["Its own scripts", "Every run uses the scripts that the schedule was created with."],
  latest: ["The newest scripts", "Before each run the schedule takes the newest script that created each dataset."],
};
