/** Inline script metadata (`# /// script`): fills what a request leaves empty. */
import { invalid } from "@millrace/contract";
import { parse } from "smol-toml";

export interface ScriptMetadata {
  readonly requirements?: string;
  readonly pythonVersion?: string;
  readonly workers?: number;
  readonly params?: Record<string, string>;
}

const block = /^# \/\/\/ script[ \t]*\r?\n((?:^#(?:| .*)\r?\n)+?)^# \/\/\/[ \t]*$/m;

export function readScriptMetadata(query: string): ScriptMetadata {
  const content = block.exec(query)?.[1];
  if (content === undefined) return {};
  const toml = content.replace(/^# ?/gm, "");
  try {
    return pick(parse(toml));
  } catch (error) {
    throw invalid(
      "query",
      `script metadata (# /// script) that is valid TOML: ${(error as Error).message.split("\n")[0]}`,
    );
  }
}

function pick(meta: Record<string, unknown>): ScriptMetadata {
  const tools = table(table(meta["tools"])["datachain"] ?? table(meta["tool"])["datachain"]);
  const dependencies = meta["dependencies"];
  const version = meta["requires-python"];
  const workers = table(tools["workers"])["num_workers"];
  const params = Object.entries(table(tools["params"]));
  return {
    ...(Array.isArray(dependencies) && dependencies.length > 0
      ? { requirements: dependencies.map(String).join("\n") }
      : {}),
    ...(typeof version === "string" ? { pythonVersion: version } : {}),
    ...(typeof workers === "number" ? { workers } : {}),
    ...(params.length > 0 ? { params: Object.fromEntries(params.map(([name, value]) => [name, String(value)])) } : {}),
  };
}

const table = (value: unknown) =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
