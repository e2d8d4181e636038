/** Faults that occur at random, one after another; each ends when the server is ready again. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Moments } from "./moments.ts";
import type { Subject } from "./subject.ts";
import type { Timeline } from "./timeline.ts";

interface Fault {
  readonly name: string;
  run(subject: Subject, random: Moments): Promise<void>;
}

const serverFaults: readonly Fault[] = [
  {
    name: "server killed",
    async run(subject, random) {
      await subject.server.stop("SIGKILL");
      await random.pause(0, 1500);
      await subject.startServer();
    },
  },
  {
    name: "server stopped",
    async run(subject) {
      await subject.server.stop("SIGTERM");
      await subject.startServer();
    },
  },
  {
    name: "disk full",
    async run(subject, random) {
      subject.fillDisk();
      await random.pause(1000, 5000);
      await subject.freeDisk();
    },
  },
  {
    name: "disk full, server killed",
    async run(subject, random) {
      subject.fillDisk();
      await random.pause(0, 1000);
      await subject.server.stop("SIGKILL");
      await subject.freeDisk();
      await subject.startServer();
    },
  },
  {
    name: "clock 400 days ahead",
    async run(subject, random) {
      await subject.setClock("+400d");
      await random.pause(2000, 5000);
      await subject.setClock("+0");
    },
  },
  {
    name: "clock two days back",
    async run(subject, random) {
      await subject.setClock("-2d");
      await random.pause(2000, 5000);
      await subject.setClock("+0");
    },
  },
  {
    name: "clock an hour back",
    async run(subject, random) {
      await subject.setClock("-3600");
      await random.pause(2000, 5000);
      await subject.setClock("+0");
    },
  },
];

/** During one of these, scripts find a full disk. */
export const diskFaults: readonly string[] = ["disk full", "disk full, server killed"];

const databaseFaults: readonly Fault[] = [
  { name: "database restarted", run: async ({ cluster }) => cluster?.restart("fast") },
  {
    name: "database killed",
    async run({ cluster }, random) {
      await cluster?.down("kill");
      await random.pause(0, 5000);
      await cluster?.up();
    },
  },
  {
    name: "database down",
    async run({ cluster }, random) {
      await cluster?.down("immediate");
      await random.pause(1000, 15_000);
      await cluster?.up();
    },
  },
  {
    name: "database stopped and continued",
    async run({ cluster }, random) {
      await cluster?.pause();
      await random.pause(1000, 8000);
      await cluster?.resume();
    },
  },
];

/** The clock of the process follows its file within a second. */
const clockDelay = 1500;
const patience = 90_000;

/** Every kind occurs once before any occurs twice. SOAK_FAULTS: a pattern that selects kinds. */
export async function causeFaults(subject: Subject, timeline: Timeline, random: Moments, until: number): Promise<void> {
  const wanted = new RegExp(process.env["SOAK_FAULTS"] ?? "");
  const kinds = [...serverFaults, ...(subject.cluster ? databaseFaults : [])].filter(({ name }) => wanted.test(name));
  let due: Fault[] = [];
  await random.pause(1000, 3000);
  while (performance.now() < until) {
    if (due.length === 0) due = kinds.toSorted(() => random.next() - 0.5);
    const fault = due.pop() as Fault;
    await timeline.during(fault.name, async () => {
      await fault.run(subject, random);
      if (fault.name.startsWith("clock")) await sleep(clockDelay);
      await ready(subject, fault.name);
    });
    await random.pause(1500, 4000);
  }
}

async function ready({ server }: Subject, after: string): Promise<void> {
  for (const deadline = performance.now() + patience; ; await sleep(50)) {
    const answer = await fetch(`${server.url}/readyz`, { signal: AbortSignal.timeout(5000) }).catch(() => undefined);
    if (answer?.ok) return;
    if (performance.now() > deadline) throw new Error(`after "${after}" the server does not get ready again`);
  }
}

/** Aborted requests and cut connections excuse nothing: no other client may notice. */
export async function cutConnections({ proxy }: Subject, random: Moments, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await sleep(random.between(2000, 6000), undefined, { signal: stop }).catch(() => {});
    proxy.cut(random.pick(["reset", "end"]));
  }
}
