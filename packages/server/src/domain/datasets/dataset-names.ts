/** Names of datasets as people type them: `name`, `project.name`, `namespace.project.name`, each perhaps with `@1.2.3`. */
import { invalid } from "@millrace/contract";
import type { FullName } from "../../store/queries/datasets/datasets.ts";

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** A dataset, and perhaps one version of it. */
export interface Reference extends FullName {
  readonly version: Version | undefined;
}

/** The largest number that both stores hold in an integer column. */
const largest = 2_147_483_647;

/** Whether both stores can keep the text of a name or a URI in an index, and give it back as it was. */
export const canBeKept = (text: string): boolean => text.isWellFormed() && Buffer.byteLength(text) <= 1000;

/** Three numbers with dots between them, perhaps after a `v`. Undefined: something else. */
export function readVersion(text: string): Version | undefined {
  const match = /^v?(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,9})$/.exec(text);
  if (!match) return undefined;
  const [major = 0, minor = 0, patch = 0] = match.slice(1).map(Number);
  return [major, minor, patch].every((part) => part <= largest) ? { major, minor, patch } : undefined;
}

export const writeVersion = ({ major, minor, patch }: Version) => `${major}.${minor}.${patch}`;

export const fullName = ({ namespace, project, name }: FullName) => `${namespace}.${project}.${name}`;

/** Of a full reference: `namespace.project.name` alone. */
export const withoutVersion = (reference: string) => reference.replace(/(?<=.)@\d+\.\d+\.\d+$/, "");

/** Where short names of a user lie: the same for every job of theirs. */
export const homeOf = (username: string) => ({ namespace: `@${username}`, project: "default" });

/** The version begins at the last @, unless nothing precedes it: a namespace may begin with one. */
export function readReference(text: string, username: string, field: string): Reference {
  const typed = text.trim();
  const at = typed.lastIndexOf("@");
  const [dotted, suffix] = at > 0 ? [typed.slice(0, at), typed.slice(at + 1)] : [typed, undefined];
  const version = suffix === undefined ? undefined : readVersion(suffix);
  const parts = dotted.split(".");
  const wellFormed =
    parts.length <= 3 &&
    parts.every((part) => part !== "" && !/[@/\s\0]/.test(part.replace(/^@/, "")) && canBeKept(part));
  if (!wellFormed || (suffix !== undefined && version === undefined)) {
    throw invalid(field, "a dataset such as name, project.name or namespace.project.name, perhaps with @1.2.3", text);
  }
  const home = homeOf(username);
  const [name = "", project = home.project, namespace = home.namespace] = parts.reverse();
  return { namespace, project, name, version };
}
