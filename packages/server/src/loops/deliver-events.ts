/**
 * Delivers events. Creates deliveries from the events in the outbox, and sends the deliveries that are due, taking
 * teams in turn. An attempt to send runs outside the loop, so that a slow receiver delays nobody else. Each attempt is
 * stored before it begins. If the server crashes before the result is stored, the delivery is sent again with the same
 * id.
 */
import type { Logger } from "pino";
import { type AttemptResult, beginAttempt, dueTimes, endAttempt } from "../domain/events/delivery-attempts.ts";
import { type TellContext, tellTeam } from "../domain/events/tell.ts";
import { readTarget } from "../domain/events/webhooks.ts";
import type { KeyRing } from "../domain/secrets/key-ring.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Faults } from "../machine/faults.ts";
import { isPassing } from "../machine/passing.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { SendMail } from "../senders/mail.ts";
import type { SendWebhook } from "../senders/webhook.ts";
import type { Store } from "../store/drivers/store.ts";
import {
  type DeliveryRow,
  type DueDelivery,
  dueDeliveries,
  teamsWithDueDeliveries,
} from "../store/queries/events/deliveries.ts";
import { isOutboxFull, teamsWithOutbox } from "../store/queries/events/outbox.ts";
import { getReceiver, type ReceiverKind, receiverKinds } from "../store/queries/events/receivers.ts";
import type { Signals } from "../turns/signals.ts";
import type { Loop } from "./loop.ts";
import { TeamsInTurn } from "./teams-in-turn.ts";

export interface DeliveriesContext extends TellContext {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly log: Logger;
  readonly faults: Faults;
  readonly metrics: Pick<ServerMetrics, "deliveries">;
  readonly sendWebhook: SendWebhook;
  readonly sendMail: SendMail;
  /** Timeout of one webhook request, in seconds. */
  readonly webhookSeconds: number;
  /** Timeout of one e-mail, in seconds. */
  readonly smtpSeconds: number;
  /** Seconds until a delivery is tried again after its first failure. The wait grows with each further failure. */
  readonly webhookRetry: number;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
}

/** Maximum number of events of a team that one transaction turns into deliveries. */
const toldAtOnce = 100;
/**
 * Maximum number of deliveries that are sent at a time: in total, per team and per receiver. Webhooks and e-mails are
 * counted separately, so that a mail server that hangs delays no webhook.
 */
const most = { all: 64, team: 12, receiver: 4 } as const;
/** Seconds added to the timeout of an attempt to send, for storing its result. */
const slackSeconds = 5;

export interface DeliverEvents extends Loop {
  /** Resolves when no delivery is being sent. */
  settled(): Promise<void>;
}

export function deliverEvents(context: DeliveriesContext): DeliverEvents {
  const { store, signals, clock } = context;
  const flights = new Flights(() => signals.deliveries.wake());
  const turns = new TeamsInTurn<DueDelivery>({
    teams: (now) => teamsWithDueDeliveries(store.db, dueTimes(now)),
    of: (team, now, after, limit) => {
      const kinds = receiverKinds.filter((kind) => flights.hasRoom(kind, team));
      if (kinds.length === 0) return noneDue;
      return dueDeliveries(store.db, team, dueTimes(now), { after, kinds, busy: flights.busy(), limit });
    },
    note: async () => {},
    fire: (due, now) =>
      flights.begin(
        due,
        () => take(context, due, now),
        (row) => attempt(context, row, due.receiver_kind),
      ),
  });
  return {
    name: "deliver-events",
    signal: signals.deliveries,
    interval: 500,
    async runOnce() {
      if (context.stopping.aborted) return;
      const told = await tellAll(context);
      const sent = await turns.round(clock.now());
      if (told || (sent && receiverKinds.some((kind) => flights.hasRoom(kind)))) signals.deliveries.wake();
    },
    settled: () => flights.settled(),
  };
}

const noneDue = Promise.resolve<DueDelivery[]>([]);

/** Turns outbox events of all teams into deliveries. Returns whether more events may be left. */
async function tellAll(context: DeliveriesContext): Promise<boolean> {
  const { store, clock, log, faults } = context;
  let more = false;
  for (const team of await teamsWithOutbox(store.db)) {
    if (await isOutboxFull(store.db, team))
      log.warn(
        { team },
        "the outbox of the team is full: new events of this team are dropped until earlier ones are processed",
      );
    const told = await store.write((db) => tellTeam({ db, now: clock.now() }, context, team, toldAtOnce));
    faults.pass("events-told");
    context.signals.changes.note(team, "webhooks");
    more ||= told === toldAtOnce;
  }
  return more;
}

const secondsOf = ({ webhookSeconds, smtpSeconds }: DeliveriesContext, { receiver_kind }: DueDelivery) =>
  (receiver_kind === "mail" ? smtpSeconds : webhookSeconds) + slackSeconds;

const take = async (context: DeliveriesContext, due: DueDelivery, now: number): Promise<DeliveryRow | undefined> => {
  const row = await context.store.write((db) => beginAttempt(db, due, secondsOf(context, due), now));
  context.faults.pass("delivery-taken");
  return row;
};

/**
 * Sends one delivery and stores the result. Never rejects. If the result cannot be stored, the delivery is sent again
 * later.
 */
async function attempt(context: DeliveriesContext, row: DeliveryRow, kind: ReceiverKind): Promise<void> {
  const { store, clock, log, stopping, webhookRetry, faults, metrics } = context;
  try {
    const result = await send(context, row);
    faults.pass("delivery-sent");
    // The stop of the server aborted this attempt; the next start sends it again.
    if (!result || (!result.ok && stopping.aborted)) return;
    const outcome = await store.write((db) => endAttempt({ db, now: clock.now() }, row, result, webhookRetry));
    const { id: delivery, team_id: team, attempts } = row;
    context.signals.changes.note(team, "webhooks");
    if (outcome) metrics.deliveries.add({ team: String(team), kind, outcome });
    if (!result.ok) log.info({ delivery, team, attempts, why: result.error }, "a delivery failed");
  } catch (error) {
    if (!isPassing(error)) log.error({ err: error, delivery: row.id }, "a delivery was interrupted; it is sent again");
  }
}

/** Sends one delivery. Returns undefined if its receiver was deleted. */
async function send(context: DeliveriesContext, row: DeliveryRow): Promise<AttemptResult | undefined> {
  const { store, keys, stopping } = context;
  const receiver = await getReceiver(store.db, row.receiver_id);
  if (!receiver) return undefined;
  const { id: deliveryId, title, body, kind } = row;
  if (receiver.kind === "mail")
    return context.sendMail({ to: receiver.address, subject: title, text: body, deliveryId }, stopping);
  const { url, secret } = readTarget(keys, receiver);
  const { method, verify_tls } = receiver;
  // The body keeps the format it had when the event happened, even if the webhook's format was changed since. A JSON
  // body starts with a brace, a form does not.
  const request = { url, secret, method, isForm: !body.startsWith("{"), verifyTls: verify_tls === 1 };
  return context.sendWebhook({ ...request, kind, deliveryId, body }, stopping);
}

type Take = () => Promise<DeliveryRow | undefined>;

/** Keeps the deliveries that are being sent, and limits their number. */
class Flights {
  readonly #flying = new Map<string, { readonly due: DueDelivery; done: Promise<void> }>();
  readonly #onEnd: () => void;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  hasRoom(kind: ReceiverKind, team?: number): boolean {
    if (this.#count(({ receiver_kind }) => receiver_kind === kind) >= most.all) return false;
    const isOfTeam = ({ receiver_kind, team_id }: DueDelivery) => receiver_kind === kind && team_id === team;
    return team === undefined || this.#count(isOfTeam) < most.team;
  }

  /** Returns the ids of receivers to which the maximum number of deliveries is being sent. */
  busy(): number[] {
    const counts = new Map<number, number>();
    for (const { due } of this.#flying.values()) counts.set(due.receiver_id, (counts.get(due.receiver_id) ?? 0) + 1);
    return [...counts].flatMap(([id, count]) => (count >= most.receiver ? [id] : []));
  }

  /**
   * Starts to send a delivery. Returns false if a limit is reached, if the delivery is already being sent, or if
   * another server took it.
   */
  async begin(due: DueDelivery, take: Take, attempt: (row: DeliveryRow) => Promise<void>): Promise<boolean> {
    const isBusy = this.#count(({ receiver_id }) => receiver_id === due.receiver_id) >= most.receiver;
    if (isBusy || !this.hasRoom(due.receiver_kind, due.team_id) || this.#flying.has(due.id)) return false;
    const flight = { due, done: Promise.resolve() };
    this.#flying.set(due.id, flight);
    const row = await take().catch((error: unknown) => {
      this.#flying.delete(due.id);
      throw error;
    });
    if (!row) return !this.#flying.delete(due.id);
    flight.done = attempt(row).finally(() => {
      this.#flying.delete(due.id);
      this.#onEnd();
    });
    return true;
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#flying.values()].map(({ done }) => done));
  }

  #count(isIt: (due: DueDelivery) => boolean): number {
    return [...this.#flying.values()].filter(({ due }) => isIt(due)).length;
  }
}
