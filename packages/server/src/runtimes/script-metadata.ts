/** Reads inline script metadata (`# /// script`). The metadata supplies settings that the job request leaves out. */
import { durationWords, fieldLimits, invalid, readDuration, retryLimits } from "@millrace/contract";
import { parse } from "smol-toml";
import { libraryName } from "../datachain/library.ts";

export interface ScriptMetadata {
  readonly requirements?: string;
  readonly pythonVersion?: string;
  readonly workers?: number;
  readonly params?: Record<string, string>;
  /** Time limit of an attempt, in seconds. */
  readonly timeout?: number;
  readonly retries?: number;
  /** Delay before the first retry, in seconds. */
  readonly retryDelay?: number;
}

const opening = /^# \/\/\/ script[^\S\n]*$/m;
/** Maximum number of characters, counted from `# /// script`, in which the end of the metadata is searched. */
const mostComments = 4 * fieldLimits.metadata;

/**
 * Returns the text between `# /// script` and the last `# ///` of the same comment block, or undefined without
 * metadata.
 */
function metadataOf(query: string): string | undefined {
  const begin = query.search(opening);
  if (begin === -1) return undefined;
  const lines = query
    .slice(begin, begin + mostComments)
    .split(/\r?\n/)
    .slice(1);
  const length = lines.findIndex((line) => line !== "#" && !line.startsWith("# "));
  if (length === -1 && query.length > begin + mostComments) throw tooLong(`more than ${mostComments}`);
  const comments = lines.slice(0, length === -1 ? undefined : length);
  const end = comments.findLastIndex((line) => line.trimEnd() === "# ///");
  if (end === -1) return undefined;
  return comments
    .slice(0, end)
    .map((line) => line.slice(2))
    .join("\n");
}

export function readScriptMetadata(query: string): ScriptMetadata {
  const toml = metadataOf(query);
  if (toml === undefined) return {};
  if (toml.length > fieldLimits.metadata) throw tooLong(String(toml.length));
  let meta: Record<string, unknown>;
  try {
    meta = parse(toml);
  } catch (error) {
    throw wrong(`valid TOML: ${(error as Error).message.split("\n")[0]}`);
  }
  return pick(meta);
}

const wrong = (expected: string, got?: unknown) =>
  invalid("query", `script metadata (# /// script) with ${expected}`, got);

const tooLong = (got: string) => wrong(`at most ${fieldLimits.metadata} characters, got ${got}`);

function pick(meta: Record<string, unknown>): ScriptMetadata {
  const tools = table(table(meta["tools"])[libraryName] ?? table(meta["tool"])[libraryName]);
  const dependencies = meta["dependencies"];
  const version = meta["requires-python"];
  const workers = table(tools["workers"])["num_workers"];
  const params = Object.entries(table(tools["params"]));
  if (workers !== undefined && !(Number.isInteger(workers) && Number(workers) >= 0 && Number(workers) < 2 ** 31)) {
    throw wrong("num_workers as a whole number from 0 to 2147483647", String(workers));
  }
  const misplaced = ruleNames.find((name) => name in tools);
  if (misplaced) throw wrong(`${misplaced} below [tool.millrace], not [tools.${libraryName}]`);
  if (typeof version === "string" && version.length > 100) throw wrong("a requires-python of at most 100 characters");
  return {
    ...(Array.isArray(dependencies) && dependencies.length > 0
      ? { requirements: dependencies.map(String).join("\n") }
      : {}),
    ...(typeof version === "string" ? { pythonVersion: version } : {}),
    ...(workers === undefined ? {} : { workers: Number(workers) }),
    ...pickRules(table(table(meta["tools"])["millrace"] ?? table(meta["tool"])["millrace"])),
    ...(params.length > 0 ? { params: Object.fromEntries(params.map(([name, value]) => [name, String(value)])) } : {}),
  };
}

const ruleNames = ["timeout", "retries", "retry_delay"];

/**
 * Reads the time limit and the retry settings from `[tool.millrace]`. Throws if a name is unknown, because a misspelt
 * setting would have no effect.
 */
function pickRules(rules: Record<string, unknown>): ScriptMetadata {
  const unknown = Object.keys(rules).find((name) => !ruleNames.includes(name));
  if (unknown !== undefined) throw wrong(`only ${ruleNames.join(", ")} below [tool.millrace]`, unknown);
  const { timeout, retries, delay } = retryLimits;
  const picked = {
    timeout: rules["timeout"] === undefined ? undefined : readSeconds("timeout", rules["timeout"], timeout),
    retries: rules["retries"] === undefined ? undefined : readCount(rules["retries"], retries),
    retryDelay:
      rules["retry_delay"] === undefined ? undefined : readSeconds("retry_delay", rules["retry_delay"], delay),
  };
  return Object.fromEntries(Object.entries(picked).filter(([, value]) => value !== undefined));
}

/** Reads a duration given as a number of seconds or as a text such as "10m". */
function readSeconds(name: string, value: unknown, most: number): number {
  const seconds = typeof value === "string" ? readDuration(value) : isCount(value) ? value : undefined;
  if (seconds !== undefined && seconds <= most) return seconds;
  throw wrong(`${name} as seconds or a text such as "10m", at most ${durationWords(most)}`, String(value));
}

function readCount(value: unknown, most: number): number {
  if (isCount(value) && value <= most) return value;
  throw wrong(`retries as a whole number from 0 to ${most}`, String(value));
}

const isCount = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0;

const table = (value: unknown) =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
