/** Finds versions by dataset name and version number. A few statements find hundreds of versions. */
import { type RawBuilder, sql } from "kysely";
import type { Db } from "../../drivers/store.ts";
import { parts } from "../batches.ts";
import type { FullName } from "./datasets.ts";

interface VersionNumbers {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** A version to find: the one with this number, or the latest if `version` is undefined. */
export interface WantedVersion extends FullName {
  readonly version: VersionNumbers | undefined;
}

interface LiveVersion {
  readonly id: number;
  readonly dataset_id: number;
  readonly version: string;
  /**
   * Job whose script created the version: the creating job, or the original job if the creating job only repeats it (as
   * a pipeline run, or as a task's job). Null if this job is unknown or belongs to another team.
   */
  readonly origin_job_id: string | null;
}

/**
 * Finds complete versions, in the order of `wanted`. An entry is undefined if the version does not exist or was
 * removed.
 */
export async function findLiveVersions(
  db: Db,
  teamId: number,
  wanted: readonly WantedVersion[],
): Promise<(LiveVersion | undefined)[]> {
  const found: (LiveVersion | undefined)[] = wanted.map(() => undefined);
  const asked = wanted.map((one, place) => ({ ...one, place }));
  const numbered = (one: WantedVersion) => one.version !== undefined;
  for (const [some, version] of [
    [asked.filter(numbered), thatNumber],
    [asked.filter((one) => !numbered(one)), theLatest],
  ] as const)
    for (const part of parts(some))
      for (const { place, ...row } of (await query(teamId, part, version).execute(db)).rows) found[place] = row;
  return found;
}

const live = sql`one.dataset_id = datasets.id and one.status = 4 and one.removed_at is null`;
const thatNumber = sql`(select one.id from dataset_versions one where ${live}
  and one.major = wanted.major and one.minor = wanted.minor and one.patch = wanted.patch)`;
const theLatest = sql`(select one.id from dataset_versions one where ${live}
  order by one.major desc, one.minor desc, one.patch desc limit 1)`;

interface Asked extends WantedVersion {
  readonly place: number;
}

const query = (teamId: number, asked: readonly Asked[], versionId: RawBuilder<unknown>) =>
  sql<LiveVersion & { readonly place: number }>`
    with wanted (place, namespace, project, name, major, minor, patch) as (values ${sql.join(asked.map(asRow))})
    select wanted.place, dataset_versions.id, dataset_versions.dataset_id, dataset_versions.version,
      dataset_versions.origin_job_id from wanted
    join namespaces on namespaces.team_id = ${teamId} and namespaces.name = wanted.namespace
    join projects on projects.namespace_id = namespaces.id and projects.name = wanted.project
    join datasets on datasets.project_id = projects.id and datasets.name = wanted.name
    join dataset_versions on dataset_versions.id = ${versionId}`;

/** Builds an SQL row whose values have explicit types, because PostgreSQL treats untyped values as text. */
const asRow = ({ place, namespace, project, name, version }: Asked) =>
  sql`(${whole(place)}, ${text(namespace)}, ${text(project)}, ${text(name)},
    ${whole(version?.major)}, ${whole(version?.minor)}, ${whole(version?.patch)})`;
const whole = (value: number | undefined) => sql`cast(${value ?? null} as integer)`;
const text = (value: string) => sql`cast(${value} as text)`;
