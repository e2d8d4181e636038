/** Datasets as the API shows them. Written as text: schemas and rows pass through without being read into numbers. */
import {
  type ListedVersionRow,
  mostVersions,
  type SizedVersionRow,
  type VersionSchemas,
  type VersionTexts,
} from "../store/dataset-versions.ts";
import type { PlacedDataset } from "../store/datasets.ts";
import { beginningOf } from "../store/short-texts.ts";
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

/** What is large, by the ids of versions: those that are not in it do not fit into the answer. */
export interface Large {
  readonly schemas: ReadonlyMap<number, VersionSchemas>;
  readonly texts: ReadonlyMap<number, VersionTexts>;
}

export function datasetText(dataset: PlacedDataset, versions: readonly SizedVersionRow[], large: Large): string {
  const schemas = schemaMembers(large.schemas.get(versions.at(-1)?.id ?? 0));
  const shown = versions.map((row) => versionText(row, large)).join(",");
  return `{${datasetMembers(dataset)},${schemas},"versions":[${shown}],"_versions_loaded":true}`;
}

const schemaMembers = (schemas: VersionSchemas | undefined) =>
  `"schema":${objectText(schemas?.schema ?? null)},"feature_schema":${objectText(schemas?.feature_schema ?? null)}`;

function versionText(row: SizedVersionRow, large: Large): string {
  const texts = large.texts.get(row.id);
  const { preview, ...scripts } = texts ?? { preview: null, sources: "", query_script: "", script_output: "" };
  const { sources, query_script, script_output } = scripts;
  const { content_hash } = row;
  const rest = members({ sources, query_script, script_output, content_hash, pending_metadata_drop: false });
  const rows = `"preview":${arrayText(preview) ?? "null"},"_preview_loaded":${texts !== undefined}`;
  return `{${versionMembers(row)},${rest},${schemaMembers(large.schemas.get(row.id))},${rows}}`;
}
