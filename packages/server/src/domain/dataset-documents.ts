/** Datasets as the API shows them. Written as text: schemas and rows pass through without being read into numbers. */
import type { DatasetVersionRow, ListedVersionRow } from "../store/dataset-versions.ts";
import type { PlacedDataset } from "../store/datasets.ts";
import { arrayText, objectText } from "./json-texts.ts";

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

export const listedDatasetText = (dataset: PlacedDataset, versions: readonly ListedVersionRow[]): string =>
  `{${datasetMembers(dataset)},"versions":[${versions.map((row) => `{${versionMembers(row)}}`).join(",")}]}`;

export function datasetText(dataset: PlacedDataset, versions: readonly DatasetVersionRow[]): string {
  const newest = versions.at(-1);
  const schemas = schemaMembers(newest?.schema ?? "{}", newest?.feature_schema ?? "{}");
  const shown = versions.map(versionText).join(",");
  return `{${datasetMembers(dataset)},${schemas},"versions":[${shown}],"_versions_loaded":true}`;
}

const schemaMembers = (schema: string, featureSchema: string) =>
  `"schema":${objectText(schema)},"feature_schema":${objectText(featureSchema)}`;

function versionText(row: DatasetVersionRow): string {
  const { sources, query_script, script_output, content_hash } = row;
  const rest = members({ sources, query_script, script_output, content_hash, pending_metadata_drop: false });
  const preview = arrayText(row.preview) ?? "null";
  const schemas = schemaMembers(row.schema, row.feature_schema);
  return `{${versionMembers(row)},${rest},${schemas},"preview":${preview},"_preview_loaded":true}`;
}
