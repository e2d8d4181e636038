/** Finds the token that the user has saved, in the places where the hub's own clients save it. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Environment, FoundValue } from "../../configuration/parameters.ts";
import { StorageError } from "../../errors.ts";

const variables = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"];
const trueWords = ["1", "ON", "YES", "TRUE"];

/**
 * Returns the saved token, for storages without the parameter `token`. Returns undefined if there is none, or if
 * HF_HUB_DISABLE_IMPLICIT_TOKEN is true.
 */
export function implicitToken(environment: Environment): FoundValue | undefined {
  const isOff = trueWords.includes((environment["HF_HUB_DISABLE_IMPLICIT_TOKEN"] ?? "").toUpperCase());
  return isOff ? undefined : savedToken(environment);
}

function savedToken(environment: Environment): FoundValue | undefined {
  for (const name of variables) {
    const value = clean(environment[name]);
    if (value) return { value, source: `environment ${name}` };
  }
  const file = tokenFile(environment);
  const value = clean(readIfThere(file));
  return value ? { value, source: `file ${file}` } : undefined;
}

interface Asked {
  /** `token` is the token to send. True means the saved token, which must exist; false and null mean no token. */
  readonly values: { readonly token: string | boolean | null };
  readonly environment: Environment;
}

/** Returns the token to send, or undefined for none. */
export function tokenOf({ values, environment }: Asked): string | undefined {
  if (values.token === false || values.token === null) return undefined;
  if (values.token !== true) return values.token;
  const saved = savedToken(environment);
  if (saved) return saved.value as string;
  throw new StorageError(
    "config",
    "token is true, but no token is saved: set HF_TOKEN, or log in to the Hugging Face hub",
    {
      scheme: "hf",
    },
  );
}

function tokenFile(environment: Environment): string {
  const home = environment["HOME"] ?? homedir();
  const expand = (path: string) => path.replace(/^~(?=\/|$)/, home);
  if (environment["HF_TOKEN_PATH"]) return expand(environment["HF_TOKEN_PATH"]);
  const cache = environment["XDG_CACHE_HOME"] || join(home, ".cache");
  return join(expand(environment["HF_HOME"] || join(cache, "huggingface")), "token");
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

const clean = (text: string | undefined) => text?.replaceAll(/[\r\n]/g, "").trim();
