/** `millrace dataset`: shows and edits registered datasets, their versions and their lineage. */
import { type Client, type Dataset, parseExactly, routes } from "@millrace/contract";
import { allPages } from "../all-pages.ts";
import { connect } from "../connection.ts";
import {
  datasetFields,
  type Listed,
  listColumns,
  previewColumns,
  schemaColumns,
  schemaRows,
  versionsTable,
} from "../dataset/view.ts";
import { CliError, usageError } from "../errors.ts";
import { type Output, visible } from "../output.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const ls: Handler<"dataset ls"> = async ({ flags, arguments: { NAME: prefix } }, output) => {
  const { client } = await connect(flags);
  const showsRemoved = flags["include-removed"];
  const query = { ...(prefix ? { prefix } : {}), include_removed: showsRemoved };
  const datasets = await allPages(client, routes.listDatasets, query);
  const rows = datasets.flatMap((dataset): Listed[] =>
    (flags.versions ? dataset.versions : dataset.versions.slice(-1)).map((version) => ({ dataset, version })),
  );
  if (flags.json) output.json(datasets);
  else if (rows.length > 0) output.table(listColumns(showsRemoved), rows);
  else if (prefix) output.note(`No dataset begins with ${prefix}. See them all: millrace dataset ls`);
  else output.note("No datasets yet. Run a script that saves one: millrace job run SCRIPT.py");
  return 0;
};

const show: Handler<"dataset show"> = async ({ flags, arguments: { NAME: name } }, output) => {
  const { client } = await connect(flags);
  const query = { name, include_removed: flags["include-removed"] };
  const text = await (await client.request(routes.getDataset, { query })).text();
  // The exact parser keeps all digits of numbers in rows; everything else comes from the normal parser.
  const exact = parseExactly(text) as Dataset;
  if (flags.json) {
    output.json(exact);
    return 0;
  }
  const dataset = JSON.parse(text) as Dataset;
  const index = chosenVersion(dataset, name);
  output.fields(datasetFields(dataset));
  section(output, "versions");
  output.table(versionsTable(flags["include-removed"]), dataset.versions);
  showRows(dataset, exact, index, output);
  return 0;
};

/**
 * Returns the index of the version in the name, such as `NAME@1.0.2`. If the name has no version, returns the index of
 * the newest version.
 */
function chosenVersion({ versions }: Dataset, name: string): number {
  const wanted = /.@v?(\d+\.\d+\.\d+)$/.exec(name.trim())?.[1];
  const index = wanted === undefined ? versions.length - 1 : versions.findIndex(({ version }) => version === wanted);
  if (index >= 0) return index;
  throw new CliError(`The dataset has no version ${wanted}`, {
    why: `Its versions: ${versions.map(({ version }) => version).join(", ")}`,
    next: "To list removed versions, too: millrace dataset show NAME --include-removed",
  });
}

function showRows(dataset: Dataset, exact: Dataset, index: number, output: Output): void {
  const version = dataset.versions[index];
  const rows = exact.versions[index]?.preview ?? [];
  const columns = schemaRows(version?.schema ?? {});
  section(output, `columns of ${version?.version}`);
  if (columns.length > 0) output.table(schemaColumns, columns);
  else output.note("The schema is unknown.");
  section(output, `first rows of ${version?.version}`);
  if (rows.length > 0) output.table(previewColumns(rows), rows);
  else output.note(version?.num_objects === 0 ? "It has no rows." : "There are no rows to show.");
}

const section = (output: Output, title: string) => output.print(`\n${title}`);

const lineage: Handler<"dataset lineage"> = async ({ flags, arguments: { NAME: dataset } }, output) => {
  if (flags.upstream && flags.downstream) throw usageError("--upstream and --downstream cannot be combined");
  const { client } = await connect(flags);
  const direction = flags.upstream ? "upstream" : flags.downstream ? "downstream" : "both";
  const query = { dataset, direction, ...(flags.depth === undefined ? {} : { depth: flags.depth }) } as const;
  const found = await client.call(routes.getLineage, { query });
  if (flags.json) {
    output.json(found);
    return 0;
  }
  const { lineageLines } = await import("../dataset/tree.ts");
  const lines = lineageLines(found, direction === "both" ? ["upstream", "downstream"] : [direction]);
  for (const line of lines) output.print(visible(line));
  if (lines.length === 1) output.note("No lineage is known.");
  if (found.truncated) output.note("The graph is incomplete. Use a larger --depth, or start from another dataset.");
  return 0;
};

const edit: Handler<"dataset edit"> = async ({ flags, arguments: { NAME: name } }, output) => {
  const { "new-name": new_name, description, attrs } = flags;
  const changes = {
    ...(new_name === undefined ? {} : { new_name }),
    ...(description === undefined ? {} : { description }),
    ...(flags["no-attrs"] ? { attrs: [] } : attrs.length > 0 ? { attrs: [...attrs] } : {}),
  };
  if (flags["no-attrs"] && attrs.length > 0) throw usageError("--attrs and --no-attrs cannot be combined");
  if (Object.keys(changes).length === 0)
    throw usageError("There is nothing to change: give at least one flag", { next: "millrace dataset edit --help" });
  const { client } = await connect(flags);
  const response = await client.request(routes.editDataset, { body: { name, ...changes } });
  const text = await response.text();
  if (flags.json) output.json(parseExactly(text));
  else output.fields(datasetFields(JSON.parse(text) as Dataset));
  return 0;
};

/**
 * If the name has no version, asks for confirmation, because all versions will be removed. If it has a version, only
 * that version is removed, without confirmation.
 */
async function askToRemoveAll(client: Client, name: string): Promise<void> {
  if (/.@v?\d+\.\d+\.\d+$/.test(name.trim())) return;
  const { versions } = JSON.parse(
    await (await client.request(routes.getDataset, { query: { name, include_removed: false } })).text(),
  ) as Dataset;
  const numbers = versions.map(({ version }) => version);
  const shown =
    numbers.length > 10 ? `${numbers.slice(-10).join(", ")} and ${numbers.length - 10} older` : numbers.join(", ");
  const { askToProceed } = await import("../prompt.ts");
  await askToProceed(`All ${numbers.length} versions of ${name} will be removed, with their rows: ${shown}.`);
}

const rm: Handler<"dataset rm"> = async ({ flags, arguments: { NAME: name } }, output) => {
  const { client } = await connect(flags);
  if (flags.force && !flags.version && !flags.yes) await askToRemoveAll(client, name);
  const body = { name, force: flags.force, ...(flags.version ? { version: flags.version } : {}) };
  const answer = await client.call(routes.removeDataset, { body });
  if (flags.json) output.json(answer);
  else output.print(answer.message);
  return 0;
};

export const handlers: HandlersOf<"dataset"> = {
  "dataset ls": ls,
  "dataset show": show,
  "dataset lineage": lineage,
  "dataset edit": edit,
  "dataset rm": rm,
};
