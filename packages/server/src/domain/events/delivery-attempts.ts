/** One attempt at a delivery: who makes it, and what follows from how it ended. */
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

export interface AttemptResult {
  readonly ok: boolean;
  /** Of the answer, where there was one. */
  readonly status: number | null;
  /** Why it failed, for people. */
  readonly error: string | null;
  /** False: the failure is not the receiver's, and is not counted against it. */
  readonly isReceivers?: boolean;
}

/** No pause is longer, in milliseconds. */
const longest = 8 * 3_600_000;

/** After so many failures. */
const pauseAfter = (failures: number, firstSeconds: number) =>
  Math.min(firstSeconds * 1000 * 3 ** (failures - 1), longest);

/** Until when nothing is sent to it; undefined: it does not rest. A rest longer than any pause was written by a wrong clock. */
export function restOf({ rests_until }: Pick<ReceiverRow, "rests_until">, now: number): string | undefined {
  const isResting = rests_until !== null && rests_until > iso(now) && rests_until <= iso(now + longest);
  return isResting ? rests_until : undefined;
}

/** What is put off for longer than any pause is due, too: a wrong clock wrote it. */
export const dueTimes = (now: number): DueTimes => ({ now: iso(now), far: iso(now + day) });

/** Should whoever takes it die, it is due again when no attempt lasts any more. Undefined: somebody else has it. */
export const beginAttempt = (db: Db, due: DueDelivery, seconds: number, now: number) =>
  takeDelivery(db, due, iso(now + seconds * 1000), iso(now));

/** What becomes of a delivery by an attempt. */
export type AttemptOutcome = "delivered" | "retried" | "failed";

/** Undefined: somebody else has made it meanwhile, or it is gone. */
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

/** It answers again: what waited for that is sent. */
async function countSuccess({ db, now }: Transaction, { id, failures, disabled_at }: ReceiverRow): Promise<void> {
  if (failures === 0 || disabled_at !== null) return;
  await updateReceiver(db, id, { failures: 0, rests_until: null });
  await setDue(db, id, iso(now));
}

/** Attempts that were under way side by side fail for one reason: they count as one. */
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

/** What waits is kept for the day when somebody enables it again. */
async function disable({ db, now }: Transaction, receiver: ReceiverRow, error: string | null): Promise<void> {
  const { id, team_id, kind, address } = receiver;
  const failures = receiver.failures + 1;
  const disabled_reason = `${failures} attempts in a row failed. The last one: ${error ?? "unknown"}`;
  await updateReceiver(db, id, { failures, rests_until: null, disabled_at: iso(now), disabled_reason });
  await setDue(db, id, null);
  const action = kind === "webhook" ? "webhook.disable" : "notification.disable";
  const actor = { userId: null, username: "", via: "deliveries", address: "" };
  const target = kind === "webhook" ? `webhook ${id}` : address;
  await audit(db, actor, { action, team: { id: team_id }, target, detail: disabled_reason }, now);
}
