/**
 * Attempts to deliver a message to a receiver. Claims a delivery that is due, records the result, and plans a retry
 * with back-off after a failure.
 */
import { webhookLimits } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import {
  type DeliveryRow,
  type DueDelivery,
  type DueTimes,
  endDeliveryAttempt,
  putOff,
  setDue,
  takeDelivery,
} from "../../store/queries/events/deliveries.ts";
import { lockReceiver, type ReceiverRow, updateReceiver } from "../../store/queries/events/receivers.ts";
import { audit } from "../access/audit.ts";
import type { Transaction } from "../access/edit.ts";
import { day, iso } from "../time/clock.ts";

/** The result of one attempt to send a message. */
export interface AttemptResult {
  readonly ok: boolean;
  /** Status code of the receiver's answer; null if the receiver did not answer. */
  readonly status: number | null;
  /** Sentence that says why the attempt failed; null if the attempt succeeded. */
  readonly error: string | null;
  /**
   * Whether the receiver caused the failure. If false, the failure is not counted for the receiver. Undefined means
   * true.
   */
  readonly isReceivers?: boolean;
}

/** Maximum back-off of a delivery or a receiver, in milliseconds. */
const longest = 8 * 3_600_000;

/**
 * Returns the back-off after this many failures, in milliseconds. Each further failure triples the back-off, up to
 * `longest`.
 */
const pauseAfter = (failures: number, firstSeconds: number) =>
  Math.min(firstSeconds * 1000 * 3 ** (failures - 1), longest);

/**
 * Returns the time at which the back-off of a receiver ends; undefined if the receiver is not in back-off. If the
 * stored time is further away than the maximum back-off, it was computed with a wrong clock and is ignored.
 */
export function restOf({ rests_until }: Pick<ReceiverRow, "rests_until">, now: number): string | undefined {
  const isResting = rests_until !== null && rests_until > iso(now) && rests_until <= iso(now + longest);
  return isResting ? rests_until : undefined;
}

/**
 * Returns the two times by which due deliveries are found. A delivery is due if its time is before `now`. A delivery is
 * also due if its time is after `far`. No back-off is that long, so such a time was computed with a wrong clock.
 */
export const dueTimes = (now: number): DueTimes => ({ now: iso(now), far: iso(now + day) });

/**
 * Claims a due delivery for an attempt. If the server dies, the delivery is due again after `seconds`, the longest time
 * that an attempt takes. Returns undefined if another server has claimed the delivery, or if it was deleted.
 */
export const beginAttempt = (db: Db, due: DueDelivery, seconds: number, now: number) =>
  takeDelivery(db, due, iso(now + seconds * 1000), iso(now));

/** State of a delivery after an attempt: delivered, to be retried, or failed for good. */
export type AttemptOutcome = "delivered" | "retried" | "failed";

/**
 * Records the result of an attempt, and plans the next attempt if this one failed. `firstPause` is the first back-off
 * in seconds. Returns the new state of the delivery. Returns undefined if the delivery or its receiver was deleted, or
 * if another server has claimed the delivery meanwhile.
 */
export async function endAttempt(
  transaction: Transaction,
  row: DeliveryRow,
  result: AttemptResult,
  firstPause: number,
): Promise<AttemptOutcome | undefined> {
  const { db, now } = transaction;
  const receiver = await lockReceiver(db, row.receiver_id);
  if (!receiver) return undefined;
  const { ok, status: response_status, error } = result;
  const isOver = ok || row.attempts >= webhookLimits.attempts;
  const pause = pauseAfter(row.attempts, firstPause);
  const outcome = {
    status: ok ? "delivered" : isOver ? "failed" : "pending",
    next_at: isOver ? null : iso(now + pause),
    response_status,
    error,
    finished_at: isOver ? iso(now) : null,
  } as const;
  if (!(await endDeliveryAttempt(db, row, outcome))) return undefined;
  if (ok) await countSuccess(transaction, receiver);
  else if (result.isReceivers !== false) await countFailure(transaction, receiver, error, firstPause);
  return outcome.status === "pending" ? "retried" : outcome.status;
}

/** Resets the failure count of a receiver that answers again, and makes its waiting deliveries due now. */
async function countSuccess({ db, now }: Transaction, { id, failures, disabled_at }: ReceiverRow): Promise<void> {
  if (failures === 0 || disabled_at !== null) return;
  await updateReceiver(db, id, { failures: 0, rests_until: null });
  await setDue(db, id, iso(now));
}

/**
 * Counts a failure of a receiver and starts the receiver's back-off. Failures during a back-off are not counted,
 * because they have the same cause.
 */
async function countFailure(
  transaction: Transaction,
  receiver: ReceiverRow,
  error: string | null,
  firstPause: number,
): Promise<void> {
  const { db, now } = transaction;
  const { id, disabled_at } = receiver;
  if (disabled_at !== null) return void (await setDue(db, id, null));
  const resting = restOf(receiver, now);
  if (resting !== undefined) return void (await putOff(db, id, resting));
  const failures = receiver.failures + 1;
  if (failures >= webhookLimits.failuresInRow) return disable(transaction, receiver, error);
  const rest = iso(now + pauseAfter(failures, firstPause));
  await updateReceiver(db, id, { failures, rests_until: rest });
  await putOff(db, id, rest);
}

/**
 * Disables a receiver after too many failures in a row. Its waiting deliveries are kept, and are sent once somebody
 * enables the receiver again.
 */
async function disable({ db, now }: Transaction, receiver: ReceiverRow, error: string | null): Promise<void> {
  const { id, team_id, kind, address } = receiver;
  const failures = receiver.failures + 1;
  const disabled_reason = `${failures} attempts in a row failed. The last error: ${error ?? "unknown"}`;
  await updateReceiver(db, id, { failures, rests_until: null, disabled_at: iso(now), disabled_reason });
  await setDue(db, id, null);
  const action = kind === "webhook" ? "webhook.disable" : "notification.disable";
  const actor = { userId: null, username: "", via: "deliveries", address: "" };
  const target = kind === "webhook" ? `webhook ${id}` : address;
  await audit(db, actor, { action, team: { id: team_id }, target, detail: disabled_reason }, now);
}
