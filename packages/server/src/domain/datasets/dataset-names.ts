/**
 * Parses dataset names as users type them: `name`, `project.name` or `namespace.project.name`, optionally with
 * `@1.2.3`.
 */
import { invalid } from "@millrace/contract";
import type { FullName } from "../../store/queries/datasets/datasets.ts";

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** The full name of a dataset, and a version. If the version is undefined, the newest version is meant. */
export interface Reference extends FullName {
  readonly version: Version | undefined;
}

/** Largest number that an integer column of PostgreSQL can store (32 bits). */
const largest = 2_147_483_647;

/**
 * Returns whether a name or URI is well-formed Unicode of at most 1000 bytes. Only then can SQLite and PostgreSQL both
 * index the text and return it unchanged.
 */
export const canBeKept = (text: string): boolean => text.isWellFormed() && Buffer.byteLength(text) <= 1000;

/** Parses a version number such as `1.2.3` or `v1.2.3`; returns undefined for any other text. */
export function readVersion(text: string): Version | undefined {
  const match = /^v?(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,9})$/.exec(text);
  if (!match) return undefined;
  const [major = 0, minor = 0, patch = 0] = match.slice(1).map(Number);
  return [major, minor, patch].every((part) => part <= largest) ? { major, minor, patch } : undefined;
}

export const writeVersion = ({ major, minor, patch }: Version) => `${major}.${minor}.${patch}`;

export const fullName = ({ namespace, project, name }: FullName) => `${namespace}.${project}.${name}`;

/** Removes the version from `namespace.project.name@1.2.3`. */
export const withoutVersion = (reference: string) => reference.replace(/(?<=.)@\d+\.\d+\.\d+$/, "");

/**
 * Returns the user's own namespace and project. A dataset name without a namespace and a project is looked up there.
 */
export const homeOf = (username: string) => ({ namespace: `@${username}`, project: "default" });

/**
 * Parses a dataset reference. A missing namespace or project is replaced by the user's own (`homeOf`). The version
 * follows the last @. An @ at the very beginning is part of the namespace.
 */
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
    throw invalid(
      field,
      "a dataset such as name, project.name or namespace.project.name, optionally with @1.2.3",
      text,
    );
  }
  const home = homeOf(username);
  const [name = "", project = home.project, namespace = home.namespace] = parts.reverse();
  return { namespace, project, name, version };
}
