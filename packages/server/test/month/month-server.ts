/**
 * A server on the store of the month, without HTTP and with a simulated engine: the test runs its loops step by step,
 * until it dies.
 */
import { pino } from "pino";
import { continueJobIds, prepareLocalCluster, prepareStore } from "../../src/domain/lifecycle/first-start.ts";
import { endForeignAttempts } from "../../src/domain/lifecycle/lost-attempts.ts";
import type { KeyRing } from "../../src/domain/secrets/key-ring.ts";
import type { Clock } from "../../src/domain/time/clock.ts";
import { Engines } from "../../src/engines/registry.ts";
import type { WarehouseMeasures } from "../../src/execution/measure-warehouses.ts";
import { beginRetries } from "../../src/loops/begin-retries.ts";
import { type DeliverEvents, deliverEvents } from "../../src/loops/deliver-events.ts";
import { dispatchJobs } from "../../src/loops/dispatch-jobs.ts";
import { enforceLimits } from "../../src/loops/enforce-limits.ts";
import { fireSchedules } from "../../src/loops/fire-schedules.ts";
import { fireTasks } from "../../src/loops/fire-tasks.ts";
import { fireTriggers } from "../../src/loops/fire-triggers.ts";
import { followAttempts } from "../../src/loops/follow-attempts.ts";
import type { Loop } from "../../src/loops/loop.ts";
import { tellOverdue } from "../../src/loops/tell-overdue.ts";
import { Disk } from "../../src/machine/disk.ts";
import type { ServerMetrics } from "../../src/metrics/server-metrics.ts";
import { mailSender } from "../../src/senders/mail.ts";
import { webhookSender } from "../../src/senders/webhook.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { Signals } from "../../src/turns/signals.ts";
import { blobsIn } from "../support/folder-blobs.ts";
import { localCluster } from "../support/local-cluster.ts";
import { noQuotas } from "../support/quotas.ts";
import type { PlayedEngine } from "./played-engine.ts";

export interface Ground {
  readonly store: Store;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly keys: KeyRing;
  readonly metrics: ServerMetrics;
  readonly engine: PlayedEngine;
  readonly smtpUrl: string;
}

/** When a server dies: decided before and after each of its commits, and at the crash points of the crash tests. */
type Chance = () => boolean;

const version = "0.0.0";
const seconds = { webhookSeconds: 10, webhookRetry: 10, smtpSeconds: 10 } as const;

export class MonthServer {
  readonly #ground: Ground;
  readonly #chance: Chance;
  /** Loops of a group run in parallel, the groups one after another. */
  readonly #loops: readonly (readonly Loop[])[];
  readonly #deliveries: DeliverEvents;
  readonly #collecting = new Map<string, Promise<void>>();
  readonly #lastLooks = new Map<string, number>();
  readonly #writes = { others: 0, deliveries: 0 };
  isDead = false;

  static async start(ground: Ground, diskFloor: number, chance: Chance): Promise<MonthServer> {
    const { store, clock } = ground;
    await prepareStore(store, clock.now());
    await continueJobIds(store);
    await endForeignAttempts(store, "month", clock.now());
    await prepareLocalCluster(store, 100, "none");
    return new MonthServer(ground, diskFloor, chance);
  }

  private constructor(ground: Ground, diskFloor: number, chance: Chance) {
    this.#ground = ground;
    this.#chance = chance;
    const { dataDir, clock, engine } = ground;
    const hints = new Set<string>();
    engine.onChange = (key) => {
      hints.add(key);
      this.#writes.others++;
    };
    const shared = {
      ...ground,
      engines: new Engines([[1, engine]]),
      store: this.#mortal(ground.store, "others"),
      signals: this.#signals(),
      log: pino({ level: process.env["MONTH_LOG"] ?? "silent" }),
      faults: { claimDelay: "", pass: () => this.#maybeDie() },
      disk: new Disk(dataDir, diskFloor, clock),
      quotas: noQuotas,
      ...{ serverId: "month", libraryVersion: "", cancelGrace: 10 },
      blobs: blobsIn(dataDir),
      publicUrl: () => "https://millrace.example.com",
      warehouses: engine.warehouses(),
      measures: { measure: async () => {}, measureIfDue: async () => {} } as unknown as WarehouseMeasures,
    };
    const deliveries = deliverEvents({
      ...shared,
      store: this.#mortal(ground.store, "deliveries"),
      ...seconds,
      sendWebhook: webhookSender({ networks: ["127.0.0.0/8"], seconds: seconds.webhookSeconds, version }),
      sendMail: mailSender({ smtpUrl: ground.smtpUrl, from: "millrace@example.com", seconds: seconds.smtpSeconds }),
      stopping: new AbortController().signal,
    });
    // In this order most of the work of a moment is done in one round.
    this.#loops = [
      [
        ...[
          enforceLimits(shared, localCluster),
          followAttempts({ ...shared, hints, collecting: this.#collecting }, localCluster),
          beginRetries(shared),
        ],
        ...[fireTasks(shared), fireSchedules(shared), fireTriggers(shared), tellOverdue(shared)],
      ],
      [dispatchJobs(shared, localCluster)],
      [deliveries],
    ];
    this.#deliveries = deliveries;
  }

  /** A loop that is woken runs again. */
  #signals(): Signals {
    const signals = new Signals();
    signals.schedules.wake = () => void this.#writes.others++;
    return signals;
  }

  #maybeDie(): void {
    if (!this.#chance()) return;
    this.isDead = true;
    throw new Error("killed");
  }

  /** A dead server writes nothing. */
  #mortal(store: Store, of: "others" | "deliveries"): Store {
    const write: Store["write"] = async (work) => {
      if (this.isDead) throw new Error("killed");
      this.#writes[of]++;
      const result = await store.write(async (db) => {
        const value = await work(db);
        if (this.isDead) throw new Error("killed");
        this.#maybeDie();
        return value;
      });
      this.#maybeDie();
      return result;
    };
    return { ...store, write };
  }

  /** Runs every loop until nothing more is written or the server is dead. Waits for work in progress. */
  work = () => this.#turn(this.#loops);

  /** Runs the delivery loop only. */
  deliver = () => this.#turn([[this.#deliveries]]);

  async #turn(groups: readonly (readonly Loop[])[]): Promise<void> {
    const seen = new Map<Loop, number>();
    const isStale = (loop: Loop) => seen.get(loop) !== this.#writesFor(loop);
    while (groups.flat().some(isStale) && !this.isDead)
      for (const group of groups) {
        const stale = group.filter(isStale);
        for (const loop of stale) seen.set(loop, this.#writesFor(loop));
        await Promise.all(stale.filter((loop) => this.#isTime(loop)).map((loop) => this.#run(loop)));
        await Promise.all(this.#collecting.values());
        await this.#deliveries.settled();
      }
  }

  async #run(loop: Loop): Promise<void> {
    try {
      await loop.runOnce();
    } catch (error) {
      if (!this.isDead) throw error;
    }
  }

  /** Counts writes that may give a loop something to do; deliveries do not. */
  #writesFor(loop: Loop): number {
    return this.#writes.others + (loop === this.#deliveries ? this.#writes.deliveries : 0);
  }

  /** A loop with a long interval is not run early: two observations must be at two times. */
  #isTime({ name, interval }: { readonly name: string; readonly interval: number }): boolean {
    const now = this.#ground.clock.monotonic();
    if (interval > 1000 && now - (this.#lastLooks.get(name) ?? Number.NEGATIVE_INFINITY) < interval) return false;
    this.#lastLooks.set(name, now);
    return true;
  }
}
