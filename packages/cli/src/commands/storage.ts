/**
 * `millrace storage`: works with local files and object stores. Only these commands load the storage library, so that
 * the others start quickly.
 */
import type { Entry, SyncAction } from "@millrace/storage";
import { usageError } from "../errors.ts";
import { sizeText } from "../job/view.ts";
import type { Column, Output } from "../output.ts";
import { readClientConfig } from "../storage/client-config.ts";
import type { Amount } from "../storage/progress.ts";
import { configsOf, withStorage } from "../storage/with-storage.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const ls: Handler<"storage ls"> = async ({ flags, arguments: { URI } }, output) => {
  const config = await readClientConfig(flags["client-config"]);
  const { listEntries, printEntries, printJsonEntries } = await import("../storage/listing.ts");
  await withStorage(async (session) => {
    const entries = listEntries(session, { uri: URI, config, recursive: flags.recursive });
    await (flags.json ? printJsonEntries(entries, session.signal, output) : printEntries(entries, output));
  });
  return 0;
};

const cat: Handler<"storage cat"> = async ({ flags, arguments: { URI } }, output) => {
  const config = await readClientConfig(flags["client-config"]);
  const { printFile } = await import("../storage/copy.ts");
  const { start, end } = flags;
  await withStorage(({ open, signal }) =>
    printFile({ uri: URI, storage: open(URI, config) }, { start, end, signal }, output),
  );
  return 0;
};

const cp: Handler<"storage cp"> = async ({ flags, arguments: { FROM, TO } }, output) => {
  const [fromConfig, toConfig] = await configsOf(FROM, TO, flags);
  const { copyFile, copyTree, printFile } = await import("../storage/copy.ts");
  if (TO === "-") {
    checkBytesOnly(FROM, flags);
    await withStorage(({ open, signal }) =>
      printFile({ uri: FROM, storage: open(FROM, fromConfig) }, { signal }, output),
    );
    return 0;
  }
  const done = await withStorage((session) => {
    const [source, target] = [session.open(FROM, fromConfig), session.open(TO, toConfig)];
    return (flags.recursive ? copyTree : copyFile)(session, { from: FROM, to: TO, source, target }, output);
  });
  if (flags.json) output.json(done);
  else output.note(`Copied ${amountText(done)}`);
  return 0;
};

/**
 * Throws if more than the bytes of a single file would be written to standard output: if FROM is `-`, or if
 * `--recursive` or `--json` is given.
 */
function checkBytesOnly(from: string, flags: { recursive: boolean; json: boolean }): void {
  if (from !== "-" && !flags.recursive && !flags.json) return;
  throw usageError("Only a single file can be written to standard output", {
    next: "Name the file, and omit --recursive and --json",
  });
}

const sync: Handler<"storage sync"> = async ({ flags, arguments: { FROM, TO } }, output) => {
  const [fromConfig, toConfig] = await configsOf(FROM, TO, flags);
  const { syncFolders } = await import("../storage/sync.ts");
  const actions = await withStorage((session) => {
    const [source, target] = [session.open(FROM, fromConfig), session.open(TO, toConfig)];
    return syncFolders(session, { from: FROM, to: TO, source, target }, flags, output);
  });
  tellSync(actions, flags, output);
  return 0;
};

const actionColumns: Column<SyncAction>[] = [
  { title: "ACTION", full: ({ kind }) => kind, style: ({ kind }) => (kind === "remove" ? "red" : "plain") },
  { title: "PATH", full: ({ path }) => path },
];

function tellSync(actions: readonly SyncAction[], flags: { json: boolean; "dry-run": boolean }, output: Output): void {
  const changes = actions.filter(({ kind }) => kind !== "keep");
  const of = (kind: SyncAction["kind"]) => actions.filter((action) => action.kind === kind);
  const bytes = of("copy").reduce((sum, { size }) => sum + size, 0);
  const counts = { copied: of("copy").length, removed: of("remove").length, kept: of("keep").length, bytes };
  if (flags.json) {
    output.json({ dry_run: flags["dry-run"], ...counts, changes });
    return;
  }
  if (changes.length > 0) output.table(actionColumns, changes);
  const told = `${counts.copied} copied (${sizeText(bytes)}), ${counts.removed} removed, ${counts.kept} the same`;
  output.note(flags["dry-run"] ? `Dry run: ${told}` : told);
}

const rm: Handler<"storage rm"> = async ({ flags, arguments: { URI } }, output) => {
  const config = await readClientConfig(flags["client-config"]);
  const { removeFiles } = await import("../storage/remove.ts");
  const removed = await withStorage(({ open, signal }) => removeFiles(URI, open(URI, config), flags, signal));
  if (flags.json) output.json({ dry_run: flags["dry-run"], ...removed });
  else output.note(`${flags["dry-run"] ? "Would remove" : "Removed"} ${amountText(removed)}`);
  return 0;
};

const du: Handler<"storage du"> = async ({ flags, arguments: { URI } }, output) => {
  const config = await readClientConfig(flags["client-config"]);
  const { usageBelow, usageColumns } = await import("../storage/usage.ts");
  const rows = await withStorage(({ open, signal }) => usageBelow({ uri: URI, storage: open(URI, config) }, signal));
  if (flags.json) output.json(rows);
  else output.table(usageColumns, rows);
  return 0;
};

const stat: Handler<"storage stat"> = async ({ flags, arguments: { URI } }, output) => {
  const config = await readClientConfig(flags["client-config"]);
  const { lookUp } = await import("../storage/lookup.ts");
  const entry = await withStorage(({ open, signal }) => lookUp({ uri: URI, storage: open(URI, config) }, signal));
  const { path: _, ...told } = entry;
  if (flags.json) output.json({ uri: URI, ...told });
  else output.fields([["uri", URI], ...Object.entries(told).map(([name, value]) => [name, fieldText(value)] as const)]);
  return 0;
};

const fieldText = (value: Entry[keyof Entry]) => (value instanceof Date ? value.toISOString() : String(value ?? ""));

const explain: Handler<"storage explain"> = async ({ flags, arguments: { URI } }, output) => {
  const config = await readClientConfig(flags["client-config"]);
  const { parameterColumns } = await import("../storage/explanation.ts");
  const parameters = await withStorage(async ({ open }) => open(URI, config).explainConfig());
  if (flags.json) output.json(parameters);
  else if (parameters.length === 0) output.note("This kind of storage takes no parameters");
  else output.table(parameterColumns, parameters);
  return 0;
};

const amountText = ({ files, bytes }: Amount) => `${files} ${files === 1 ? "file" : "files"} (${sizeText(bytes)})`;

export const handlers: HandlersOf<"storage"> = {
  "storage ls": ls,
  "storage cat": cat,
  "storage cp": cp,
  "storage sync": sync,
  "storage rm": rm,
  "storage du": du,
  "storage stat": stat,
  "storage explain": explain,
};
