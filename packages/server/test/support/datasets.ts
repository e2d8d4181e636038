/** Inserts dataset versions directly into the registry, as if jobs had created them. */
import { randomUUID } from "node:crypto";
import type { FoundVersion } from "../../src/domain/datasets/parse-collected.ts";
import { recordVersions } from "../../src/domain/datasets/record-collected.ts";
import type { Store } from "../../src/store/drivers/store.ts";

type Wishes = Partial<Omit<FoundVersion, "needs">> & {
  readonly needs?: FoundVersion["needs"];
  /** Id of the job that created the version. */
  readonly madeBy?: string;
  readonly reusedBy?: string;
  readonly teamId?: number;
};

/** Inserts `@admin.default.NAME@1.0.0` unless the options say otherwise. Returns its uuid. */
export async function putVersion(store: Store, name: string, wishes: Wishes = {}): Promise<string> {
  const { madeBy, reusedBy, teamId = 1, ...rest } = wishes;
  const uuid = rest.uuid ?? randomUUID();
  const version: FoundVersion = {
    namespace: "@admin",
    project: "default",
    name,
    uuid,
    version: "1.0.0",
    status: 4,
    rows_table: null,
    num_objects: 3,
    size: 0,
    feature_schema: "{}",
    schema: '{"sys__id":{"type":"UInt64"},"sys__rand":{"type":"UInt64"},"value":{"type":"Int64"}}',
    preview: "[]",
    sources: "",
    query_script: "",
    script_output: "",
    error_message: "",
    error_stack: "",
    content_hash: null,
    job_id: madeBy ?? null,
    created_at: "2030-01-01T00:00:00.000Z",
    finished_at: "2030-01-01T00:00:01.000Z",
    removed_at: null,
    dataset: { uuid: randomUUID(), description: null, attrs: "[]" },
    needs: [],
    ...rest,
  };
  const jobs = [
    ...(madeBy ? [{ jobId: madeBy, uuid, isCreator: true }] : []),
    ...(reusedBy ? [{ jobId: reusedBy, uuid, isCreator: false }] : []),
  ];
  await store.write((db) => recordVersions(db, teamId, { versions: [version], jobs }));
  return uuid;
}
