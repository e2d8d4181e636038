/** Backfills as the API shows them. */
import type { Backfill, BackfillItem, BackfillMoment } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { usernameOf } from "../../store/queries/people/users.ts";
import { getPipeline } from "../../store/queries/pipelines/pipelines.ts";
import {
  type BackfillRow,
  countMoments,
  type MomentRow,
  momentsOf,
  mostReason,
} from "../../store/queries/schedules/backfills.ts";
import { beginningOf } from "../../store/queries/short-texts.ts";

export const backfillItem = async (db: Db, row: BackfillRow): Promise<BackfillItem> => ({
  id: row.id,
  pipeline_name: row.source_name,
  status: row.status,
  cron_expression: row.cron_expression,
  timezone: row.timezone,
  from: row.from_moment,
  to: row.to_moment,
  parallel: row.parallel,
  on_failure: row.on_failure,
  total: row.total,
  ...(await countMoments(db, row.id)),
  last_error: row.last_error,
  created_by: await usernameOf(db, row.user_id),
  created_at: row.created_at,
  updated_at: row.updated_at,
  finished_at: row.finished_at,
});

const momentDocument = ({ moment, status, pipeline_id, name, error_message }: MomentRow): BackfillMoment => ({
  moment,
  status: status ?? "WAITING",
  pipeline_id,
  pipeline_name: name,
  error_message: error_message && beginningOf(error_message, mostReason),
});

export async function backfillDocument(db: Db, row: BackfillRow): Promise<Backfill> {
  return {
    ...(await backfillItem(db, row)),
    template_name: (await getPipeline(db, row.pipeline_id))?.name ?? "",
    moments: (await momentsOf(db, row.id)).map(momentDocument),
  };
}
