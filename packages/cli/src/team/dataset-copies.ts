/** Restores a copy of a team's datasets. Shows first which versions will be lost. */
import { type Client, type DatasetCopy, routes } from "@millrace/contract";
import { allPages } from "../all-pages.ts";
import { CliError } from "../errors.ts";
import { ageText } from "../job/view.ts";

/**
 * Returns the copy with the time `wanted`, or the newest daily copy if `wanted` is undefined. Throws if there is no
 * such copy.
 */
export function chooseCopy(copies: readonly DatasetCopy[], wanted: string | undefined): DatasetCopy {
  const found = wanted
    ? copies.find(({ created_at }) => Date.parse(created_at) === Date.parse(wanted))
    : copies.find(({ kind }) => kind === "daily");
  if (found) return found;
  throw new CliError(
    wanted ? `The team's datasets have no copy from ${wanted}` : "The team's datasets have no daily copy",
    {
      why: wanted ? undefined : "A copy is taken on every day on which the team's datasets change",
      next: "millrace team dataset-copies",
    },
  );
}

/** Maximum number of versions that are listed by name. Further versions are only counted. */
const mostNames = 10;

/** Returns the versions that were created after the copy. They are lost if the copy is restored. */
export async function versionsSince(client: Client, { created_at }: DatasetCopy): Promise<string[]> {
  const datasets = await allPages(client, routes.listDatasets, {});
  return datasets.flatMap(({ project, name, versions }) =>
    versions
      .filter((version) => Date.parse(version.finished_at ?? version.created_at) > Date.parse(created_at))
      .map(({ version }) => `${project.namespace.name}.${project.name}.${name}@${version}`),
  );
}

export function whatWillGo(team: string, { created_at, kind }: DatasetCopy, gone: readonly string[]): string {
  const what = kind === "daily" ? "its daily copy of" : "the datasets that were replaced at";
  const names = gone.slice(0, mostNames).join(", ");
  const more = gone.length > mostNames ? ` and ${gone.length - mostNames} more` : "";
  return [
    `The datasets of the team ${team} will be replaced by ${what} ${created_at} (${ageText(created_at, Date.now())}).`,
    gone.length === 0
      ? "No version was created since then."
      : `Versions created since then will be lost, ${gone.length} in total: ${names}${more}.`,
    "The current datasets are kept, by default for a week: millrace team dataset-copies.",
  ].join("\n");
}
