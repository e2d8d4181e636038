/**
 * Lists the tests that a file registers on this machine, and which of them are skipped. Runs none of them: the file is
 * loaded in a separate process, with a node:test that only records. A skip at run time (`t.skip()`) is not seen.
 */
import { execFile } from "node:child_process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface RegisteredTest {
  readonly title: string;
  /** Title with the titles of its suites before it: `suite > test`. */
  readonly path: string;
  /** Why it is skipped, by its own or by a suite's option. */
  readonly skip: string | false;
}

const recorder = `
  export const registered = [];
  const suites = [];
  const read = ([title, ...words]) => {
    const { skip, todo } = words.find((word) => typeof word === "object") ?? {};
    return { title, skip: skip || todo, run: words.find((word) => typeof word === "function") };
  };
  export const describe = (...words) => {
    suites.push(read(words));
    suites.at(-1).run?.();
    suites.pop();
  };
  export const it = (...words) => {
    const all = [...suites, read(words)];
    const reason = all.map(({ skip }) => skip).find(Boolean);
    const path = all.map(({ title }) => title).join(" > ");
    registered.push({ title: words[0], path, skip: reason ? String(reason) : false });
  };
  for (const each of [describe, it]) {
    each.skip = each.todo = (title, ...words) => each(title, { skip: true }, ...words.filter((word) => typeof word === "function"));
  }
  export const suite = describe, test = it, mock = {};
  export const before = () => {}, after = before, beforeEach = before, afterEach = before;
`;

const script = `
  import { writeSync } from "node:fs";
  import { registerHooks } from "node:module";
  const url = "data:text/javascript," + encodeURIComponent(${JSON.stringify(recorder)});
  registerHooks({
    resolve: (name, context, next) => (name === "node:test" ? { url, shortCircuit: true } : next(name, context)),
  });
  await import(process.env.TEST_FILE);
  const { registered } = await import("node:test");
  writeSync(1, JSON.stringify(registered));
  process.exit();
`;

const known = new Map<string, Promise<readonly RegisteredTest[]>>();

export function registeredTests(file: string): Promise<readonly RegisteredTest[]> {
  const found = known.get(file) ?? load(file);
  known.set(file, found);
  return found;
}

async function load(file: string): Promise<readonly RegisteredTest[]> {
  const words = ["--conditions=millrace-source", "--disable-warning=ExperimentalWarning", "--input-type=module"];
  const env = { ...process.env, TEST_FILE: pathToFileURL(file).href };
  const options = { cwd: import.meta.dirname, env, timeout: 120_000, maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await run(process.execPath, [...words, "--eval", script], options);
  return JSON.parse(stdout) as RegisteredTest[];
}
