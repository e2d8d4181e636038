/** Reads AWS's shared configuration files: which profiles exist, and a profile's region. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseIni } from "../../configuration/ini.ts";
import type { Environment } from "../../configuration/parameters.ts";

export async function regionOfProfile(profile: string | null, environment: Environment): Promise<string | undefined> {
  const { configured, beside } = await sectionsOf(profile ?? "default", environment);
  return configured?.["region"] ?? beside?.["region"];
}

/** Returns undefined if the profile exists; otherwise names the files that were searched, for an error message. */
export async function placesWithout(profile: string, environment: Environment): Promise<string | undefined> {
  const { configured, beside } = await sectionsOf(profile, environment);
  if (configured || beside) return undefined;
  const files = filesOf(environment).filter((file) => file !== undefined);
  return files.join(" and ") || "any file, because HOME is not set";
}

async function sectionsOf(profile: string, environment: Environment) {
  const [config, credentials] = await Promise.all(filesOf(environment).map(sectionsIn));
  const section = profile === "default" ? profile : `profile ${profile}`;
  return { configured: config?.[section], beside: credentials?.[profile] };
}

function filesOf(environment: Environment): (string | undefined)[] {
  const home = environment["HOME"] ?? environment["USERPROFILE"];
  const inHome = (name: string) => (home ? join(home, ".aws", name) : undefined);
  return [
    environment["AWS_CONFIG_FILE"] ?? inHome("config"),
    environment["AWS_SHARED_CREDENTIALS_FILE"] ?? inHome("credentials"),
  ];
}

const sectionsIn = async (file: string | undefined) =>
  parseIni(file === undefined ? "" : await readFile(file, "utf8").catch(() => ""));
