/**
 * Turns events into deliveries. One transaction takes events out of the outbox and writes their deliveries. So each
 * event leads to its deliveries exactly once, even if the server is killed.
 */
import { type JobStatus, type ToldEvent, webhookLimits } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { insertDeliveries, type NewDelivery, waitingFor } from "../../store/queries/events/deliveries.ts";
import { clearFailing, markFailing, type OutboxRow, takeOutbox } from "../../store/queries/events/outbox.ts";
import { enabledReceivers, type ReceiverRow, updateReceiver } from "../../store/queries/events/receivers.ts";
import { getShortJob } from "../../store/queries/jobs/jobs.ts";
import { teamNameOf } from "../../store/queries/people/teams.ts";
import { scheduleNameOf, scheduleOf } from "../../store/queries/pipelines/pipelines.ts";
import type { Transaction } from "../access/edit.ts";
import { readSpec } from "../lifecycle/job-documents.ts";
import { newJobId } from "../lifecycle/job-ids.ts";
import { iso } from "../time/clock.ts";
import { restOf } from "./delivery-attempts.ts";
import { bodyText, type Notice, noticeOf, type Told } from "./event-texts.ts";

export interface TellContext {
  /** Returns the public URL of the server, without a slash at the end. */
  readonly publicUrl: () => string;
}

/**
 * Turns the oldest events of a team, at most `limit`, into deliveries, and returns the number of these events. If too
 * many deliveries already wait for a receiver, further deliveries to this receiver are only counted (`dropped`) and not
 * sent.
 */
export async function tellTeam(
  { db, now }: Transaction,
  { publicUrl }: TellContext,
  teamId: number,
  limit: number,
): Promise<number> {
  const rows = await takeOutbox(db, teamId, limit);
  const receivers = rows.length > 0 ? await enabledReceivers(db, teamId) : [];
  const room = new Map<number, number>();
  for (const { id } of receivers) room.set(id, webhookLimits.waiting - (await waitingFor(db, id)));
  const team = await teamNameOf(db, teamId);
  const deliveries: NewDelivery[] = [];
  for (const row of rows) {
    const told = await toldOf(db, row, { team, publicUrl: publicUrl(), now });
    const notice = noticeOf(told);
    for (const receiver of receivers.filter((one) => wants(one, told))) {
      const left = room.get(receiver.id) ?? 0;
      if (left > 0) deliveries.push(newDelivery(receiver, notice, now));
      room.set(receiver.id, left - 1);
    }
  }
  await insertDeliveries(db, deliveries);
  for (const { id, dropped } of receivers) {
    const over = -Math.min(0, room.get(id) ?? 0);
    if (over > 0) await updateReceiver(db, id, { dropped: dropped + over });
  }
  return rows.length;
}

/** Returns a new delivery of a message to a receiver. It is due now, or when the receiver's back-off ends. */
export function newDelivery(receiver: ReceiverRow, notice: Notice, now: number): NewDelivery {
  const id = newJobId(now);
  const isMail = receiver.kind === "mail";
  return {
    id,
    team_id: receiver.team_id,
    receiver_id: receiver.id,
    kind: notice.kind,
    event: notice.event,
    title: notice.title,
    body: bodyText(notice, id, isMail ? "mail" : receiver.format),
    status: "pending",
    attempts: 0,
    next_at: restOf(receiver, now) ?? iso(now),
    response_status: null,
    error: null,
    created_at: iso(now),
    attempted_at: null,
    finished_at: null,
  };
}

/** Returns whether a receiver subscribes to an event, or to the state that a job has reached. */
function wants({ events, job_statuses }: ReceiverRow, { kind, status, event }: Told): boolean {
  if (event !== undefined && (JSON.parse(events) as ToldEvent[]).includes(event)) return true;
  return kind === "job" && (JSON.parse(job_statuses) as JobStatus[]).includes(status as JobStatus);
}

/** Values that all messages of one batch share. */
interface Frame {
  readonly team: string;
  readonly publicUrl: string;
  readonly now: number;
}

async function toldOf(db: Db, row: OutboxRow, { team, publicUrl, now }: Frame): Promise<Told> {
  const scheduleId = row.kind === "pipeline" ? await scheduleOf(db, row.subject) : null;
  const page = `${publicUrl}/team/${encodeURIComponent(team)}/datasets/jobs/${row.subject}`;
  return {
    ...row,
    at: row.at ?? iso(now),
    event: await eventOf(db, row, scheduleId, now),
    team,
    url: row.kind === "job" ? page : null,
    schedule: scheduleId === null ? null : await scheduleNameOf(db, scheduleId),
  };
}

/**
 * Returns the event that an outbox row stands for. Returns undefined if the row stands for none, such as a success
 * without an earlier failure. A failure is stored, so that the next success of the same job, pipeline or schedule
 * counts as a recovery.
 */
async function eventOf(db: Db, row: OutboxRow, scheduleId: number | null, now: number): Promise<ToldEvent | undefined> {
  const { kind, status, team_id } = row;
  if (kind === "schedule" && status !== "failure" && status !== "fired") return `schedule.${status}` as ToldEvent;
  const isFailure = status === "FAILED" || status === "failure";
  if (!isFailure && !["COMPLETE", "COMPLETED", "fired"].includes(status)) return undefined;
  const subject = kind === "job" ? await whatRuns(db, row.subject) : subjectOf(row, scheduleId);
  if (subject === undefined) return undefined;
  if (!isFailure) return (await clearFailing(db, team_id, subject)) ? `${kind}.recovery` : undefined;
  await markFailing(db, team_id, subject, iso(now));
  return `${kind}.failure`;
}

/**
 * Returns the key under which a failure of a pipeline or a schedule is stored. All pipelines that one schedule started
 * share a key.
 */
const subjectOf = ({ kind, subject }: OutboxRow, scheduleId: number | null) =>
  scheduleId === null ? `${kind} ${subject}` : `runs of schedule ${scheduleId}`;

/**
 * Returns the key under which a failure of a job is stored. Jobs of one task share a key, and so do a job and its
 * reruns. Returns undefined for a job of a pipeline, because the pipeline has events of its own.
 */
async function whatRuns(db: Db, id: string): Promise<string | undefined> {
  const job = await getShortJob(db, id);
  if (!job || job.pipeline_id !== null) return undefined;
  return job.parent_job_id === null ? `run group ${readSpec(job).run_group_id}` : `task ${job.parent_job_id}`;
}
