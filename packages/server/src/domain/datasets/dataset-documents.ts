/**
 * Builds the JSON text of datasets for the API. Schemas and rows are passed through as text, because parsing would
 * round 64-bit numbers.
 */
import {
  type ListedVersionRow,
  mostVersions,
  type SizedVersionRow,
  type VersionSchemas,
  type VersionTexts,
} from "../../store/queries/datasets/dataset-versions.ts";
import type { PlacedDataset } from "../../store/queries/datasets/datasets.ts";
import { beginningOf } from "../../store/queries/short-texts.ts";
import { arrayText, objectText } from "./json-texts.ts";

/** Returns the members of a JSON object without its braces. */
const members = (fields: Readonly<Record<string, unknown>>) => JSON.stringify(fields).slice(1, -1);

function datasetMembers({ id, uuid, name, description, attrs, created_at, project, namespace }: PlacedDataset): string {
  const place = (at: PlacedDataset["project"] | PlacedDataset["namespace"]) => ({
    id: at.id,
    uuid: at.uuid,
    name: at.name,
    descr: at.description,
    created_at: at.created_at,
  });
  const shown = { ...place(project), namespace: place(namespace) };
  const fixed = members({ id, uuid, name, description, created_at, project: shown });
  return `${fixed},"attrs":${arrayText(attrs) ?? "[]"}`;
}

const versionMembers = (row: ListedVersionRow) =>
  members({
    id: row.id,
    uuid: row.uuid,
    dataset_id: row.dataset_id,
    version: row.version,
    status: row.status,
    created_at: row.created_at,
    finished_at: row.finished_at,
    error_message: row.error_message,
    error_stack: row.error_stack,
    num_objects: row.num_objects,
    size: row.size,
    job_id: row.job_id,
    removed_at: row.removed_at,
  });

/** Returns the JSON of a dataset in a list. Long fields are shortened, and the field `cut` names them. */
export function listedDatasetText(dataset: PlacedDataset, versions: readonly ListedVersionRow[]): string {
  const { description } = dataset;
  const shown = { ...dataset, description: description && beginningOf(description) };
  const cut = [
    ...(description !== shown.description ? ["description"] : []),
    ...(dataset.attrs === null ? ["attrs"] : []),
    ...(versions.length >= mostVersions ? ["versions"] : []),
  ];
  const told = cut.length === 0 ? "" : `,"cut":${JSON.stringify(cut)}`;
  return `{${datasetMembers(shown)},"versions":[${versions.map((row) => `{${versionMembers(row)}}`).join(",")}]${told}}`;
}

/** The JSON text of a version, and the part of that text that contains the schemas. */
export interface VersionText {
  readonly text: string;
  readonly schemas: string;
}

/**
 * Returns the JSON of a dataset with its versions, oldest first. The dataset shows the schemas of its newest version.
 */
export function datasetText(dataset: PlacedDataset, versions: readonly VersionText[]): string {
  const schemas = versions.at(-1)?.schemas ?? schemaMembers(undefined);
  const shown = versions.map(({ text }) => text).join(",");
  return `{${datasetMembers(dataset)},${schemas},"versions":[${shown}],"_versions_loaded":true}`;
}

const schemaMembers = (schemas: VersionSchemas | undefined) =>
  `"schema":${objectText(schemas?.schema ?? null)},"feature_schema":${objectText(schemas?.feature_schema ?? null)}`;

/**
 * Returns the JSON of one version. If the schemas (`large`) or the texts do not fit into the answer, pass undefined for
 * them.
 */
export function versionText(
  row: SizedVersionRow,
  large: VersionSchemas | undefined,
  texts: VersionTexts | undefined,
): VersionText {
  const { preview, ...scripts } = texts ?? { preview: null, sources: "", query_script: "", script_output: "" };
  const { sources, query_script, script_output } = scripts;
  const { content_hash } = row;
  const rest = members({ sources, query_script, script_output, content_hash, pending_metadata_drop: false });
  const rows = `"preview":${arrayText(preview) ?? "null"},"_preview_loaded":${texts !== undefined}`;
  const schemas = schemaMembers(large);
  return { text: `{${versionMembers(row)},${rest},${schemas},${rows}}`, schemas };
}
