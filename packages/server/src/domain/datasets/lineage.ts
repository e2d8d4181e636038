/**
 * Finds the lineage of a dataset version: the versions and storage that it was made from, and the versions made from
 * it. The breadth-first search is limited in depth, in the number of edges and in the bytes of their URIs.
 */
import { type Lineage, type LineageNode, versionStatus } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { type Direction, type LineageStep, lineageVersions, stepsFrom } from "../../store/queries/datasets/lineage.ts";
import { BoundedList } from "../../turns/bounded-list.ts";
import { nextLook, nextStretch } from "../../turns/large-answers.ts";
import type { Team } from "../access/principals.ts";
import { fullName } from "./dataset-names.ts";

/** Maximum number of edges that the search follows in each direction. */
const most = 5000;
/** An answer with more edges takes one of the slots for large answers. */
const fewEdges = 500;
/** Maximum length of all URIs of one direction. The answer names each URI three times. */
const mostCharacters = 1024 * 1024;

/** The directions of a search, and its maximum depth in levels. */
interface Walk {
  readonly directions: readonly Direction[];
  readonly depth: number;
}

interface Walked {
  readonly steps: readonly LineageStep[];
  /** Whether edges are missing, because the search stopped at its maximum depth, number of edges or length of URIs. */
  readonly truncated: boolean;
}

/** Returns the lineage as JSON. It is built in stretches, because it may be large. */
export async function readLineage(db: Db, team: Team, rootId: number, walk: Walk): Promise<string> {
  const { nodes, edges, root, truncated } = await findLineage(db, team, rootId, walk);
  const lists = `"nodes":${await listText(nodes)},"edges":${await listText(edges)}`;
  return `{"root":${JSON.stringify(root)},${lists},"truncated":${truncated}}`;
}

async function listText(items: readonly object[]): Promise<string> {
  const list = new BoundedList();
  for (const item of items) await list.add(JSON.stringify(item));
  return `[${list.texts.join(",")}]`;
}

async function findLineage(db: Db, team: Team, rootId: number, walk: Walk): Promise<Lineage> {
  const parts: Walked[] = [];
  for (const direction of walk.directions) parts.push(await walkFrom(db, rootId, direction, walk.depth));
  const steps = parts.flatMap((part) => part.steps);
  const ids = new Set([rootId, ...steps.flatMap(idsOf)]);
  const versions = await lineageVersions(db, team.id, [...ids], nextLook);
  const uuids = new Map(versions.map(({ id, uuid }) => [id, uuid]));
  const uris = [...new Set(steps.flatMap(({ needs_uri }) => needs_uri ?? []))];
  const made = versions.flatMap(({ job_id, job_name, uuid }) => (job_id ? [{ job_id, job_name, uuid }] : []));
  return {
    root: uuids.get(rootId) ?? "",
    nodes: [...versions.map(versionNode), ...uris.map(storageNode), ...jobNodes(made)],
    edges: [
      ...steps.flatMap((step) => inputEdge(step, uuids)),
      ...made.map(({ job_id, uuid }) => ({ from: job_id, to: uuid, kind: "made" as const })),
    ],
    truncated: parts.some((part) => part.truncated),
  };
}

const idsOf = ({ version_id, needs_version_id }: LineageStep) =>
  needs_version_id === null ? [version_id] : [version_id, needs_version_id];

/**
 * Searches in one direction, level by level. Edges of a version are read only once, even if several paths lead to it.
 */
async function walkFrom(db: Db, rootId: number, direction: Direction, depth: number): Promise<Walked> {
  const seen = new Set([rootId]);
  const steps: LineageStep[] = [];
  let border = [rootId];
  let characters = 0;
  for (let level = 0; level < depth && border.length > 0; level++) {
    const found = await levelOf(db, border, direction, most - steps.length + 1);
    for (const step of found) {
      characters += step.needs_uri?.length ?? 0;
      if (steps.length >= most || characters > mostCharacters) return { steps, truncated: true };
      steps.push(step);
    }
    border = [...new Set(found.flatMap(idsOf))].filter((id) => !seen.has(id));
    for (const id of border) seen.add(id);
  }
  const more = border.length > 0 && (await stepsFrom(db, border, direction, 1)).length > 0;
  return { steps, truncated: more };
}

/** Reads the edges of one level. Many edges are read only when one of the slots for large answers is free. */
async function levelOf(db: Db, ids: readonly number[], direction: Direction, limit: number): Promise<LineageStep[]> {
  const few = await stepsFrom(db, ids, direction, Math.min(limit, fewEdges + 1), nextLook);
  if (few.length <= fewEdges) return few;
  await nextStretch();
  return stepsFrom(db, ids, direction, limit, nextStretch);
}

type VersionRow = Awaited<ReturnType<typeof lineageVersions>>[number];

const versionNode = (row: VersionRow): LineageNode => ({
  id: row.uuid,
  kind: "dataset",
  name: fullName(row),
  version: row.version,
  removed: row.status === versionStatus.removed,
  num_objects: row.num_objects,
  created_at: row.created_at,
});

const storageNode = (uri: string): LineageNode => ({ id: uri, kind: "storage", name: uri });

const jobNodes = (made: readonly { job_id: string; job_name: string | null }[]): LineageNode[] =>
  [...new Map(made.map(({ job_id, job_name }) => [job_id, job_name]))].map(([id, name]) => ({
    id,
    kind: "job",
    name: name ?? "",
  }));

function inputEdge(step: LineageStep, uuids: ReadonlyMap<number, string>): Lineage["edges"] {
  const to = uuids.get(step.version_id);
  const from = step.needs_uri ?? uuids.get(step.needs_version_id ?? 0);
  return from && to ? [{ from, to, kind: "input" }] : [];
}
