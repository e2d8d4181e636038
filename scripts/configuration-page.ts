/**
 * Writes the tables of settings into docs/configuration.md, from the settings that the server reads. A test fails if
 * the page is outdated; then run:
 *
 * node_modules/.bin/node --conditions=millrace-source scripts/configuration-page.ts
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { groups } from "../packages/server/src/configuration/config.ts";
import type { Group, Setting } from "../packages/server/src/configuration/setting.ts";
import { code, type Page, pageWith, table } from "./generated-page.ts";

const page = join(import.meta.dirname, "../docs/configuration.md");
const marks = {
  begin: "<!-- settings: written by scripts/configuration-page.ts -->",
  end: "<!-- end of settings -->",
};

/** Returns the page as it should be. */
export const expectedConfigurationPage = (): Page => pageWith(page, marks, Object.values<Group>(groups).map(section));

const titles = ["Environment", "Flag", "Default", "Meaning"];

const section = ({ title, settings }: Group) =>
  `### ${title}\n\n${table([titles, ...Object.values(settings).map(row)])}`;

const row = (setting: Setting<unknown>): string[] => [
  code(setting.env),
  setting.flag ? code(`--${setting.flag}`) : "",
  setting.fallbackInWords ?? (setting.fallback && code(setting.fallback)),
  meaning(setting),
];

const meaning = ({ description, see }: Setting<unknown>) =>
  description.replace(/MILLRACE_[A-Z_]+/g, code) + (see ? ` ([more](${see}))` : "");

if (import.meta.main) {
  const { path, expected } = expectedConfigurationPage();
  writeFileSync(path, expected);
}
