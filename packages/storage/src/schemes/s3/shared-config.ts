/** The region that the vendor's shared configuration files name for a profile. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseIni } from "../../ini.ts";
import type { Environment } from "../../parameters.ts";

export async function regionOfProfile(profile: string | null, environment: Environment): Promise<string | undefined> {
  const name = profile ?? "default";
  const section = name === "default" ? name : `profile ${name}`;
  const configured = (await sectionsIn(environment, "AWS_CONFIG_FILE", "config"))[section];
  const beside = (await sectionsIn(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials"))[name];
  return configured?.["region"] ?? beside?.["region"];
}

async function sectionsIn(environment: Environment, variable: string, name: string) {
  const home = environment["HOME"] ?? environment["USERPROFILE"];
  const path = environment[variable] ?? (home ? join(home, ".aws", name) : undefined);
  return parseIni(path === undefined ? "" : await readFile(path, "utf8").catch(() => ""));
}
