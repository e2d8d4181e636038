/** Access rules: scopes of tokens and roles of people. */

export const roles = ["viewer", "editor", "admin"] as const;
export type Role = (typeof roles)[number];

export const scopeNames = ["JOB", "DATASETS", "PIPELINES", "CLUSTERS", "ADMIN"] as const;
export type ScopeName = (typeof scopeNames)[number];
export type Level = "read" | "write";
export type Scope = `${ScopeName}:${Level}`;

export const allScopes: readonly Scope[] = scopeNames.flatMap((name) => [`${name}:read`, `${name}:write`] as const);

/** What each scope is about, for people. */
export const scopeTitles: Readonly<Record<ScopeName, string>> = {
  JOB: "Jobs",
  DATASETS: "Datasets",
  PIPELINES: "Pipelines",
  CLUSTERS: "Clusters",
  ADMIN: "Administration",
};

/** Scopes in words: `Jobs, pipelines; only reading: datasets`. All of them are everything that the user may do. */
export function scopesInWords(scopes: readonly string[]): string {
  const has = (level: Level) => (name: ScopeName) => scopes.includes(`${name}:${level}`);
  if (scopeNames.every(has("write"))) return "Everything that you may do, including administration";
  const titles = (names: readonly ScopeName[]) => names.map((name) => scopeTitles[name].toLowerCase()).join(", ");
  const written = titles(scopeNames.filter(has("write")));
  const read = titles(scopeNames.filter((name) => has("read")(name) && !has("write")(name)));
  const text = [written, read && `only reading: ${read}`].filter(Boolean).join("; ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Who may call a route. `why` is the reason for the rule, which the OpenAPI document shows. */
export type Access =
  | {
      kind: "token";
      scope: Scope;
      role: Role;
      /** True if administrators of the server may call the route for every team. */
      administrators?: true;
      people?: People;
    }
  /**
   * Only administrators of the server may call the route. Their token must have the scope, and must not be a job's
   * token.
   */
  | { kind: "admin"; scope: Scope; why: string }
  | { kind: "signed-in"; why: string; scope?: Scope; people?: People }
  /** Only the runner of an attempt may call the route. It presents the secret of that attempt. */
  | { kind: "runner"; why: string }
  | { kind: "public"; why: string };

/**
 * True if the route does not accept the token of a job, because a job must not be able to create new rights. People and
 * the tokens that they created are accepted.
 */
type People = true;

/**
 * Tells whether the granted scopes include the wanted scope. A write scope includes the read scope of the same name.
 */
export function permits(granted: readonly Scope[], wanted: Scope): boolean {
  return (
    granted.includes(wanted) ||
    (wanted.endsWith(":read") && granted.includes(wanted.replace(/read$/, "write") as Scope))
  );
}
/**
 * Tells whether the role `has` includes the role `wanted`. An admin is also an editor, and an editor is also a viewer.
 */
export const roleIncludes = (has: Role, wanted: Role) => roles.indexOf(has) >= roles.indexOf(wanted);

/**
 * Parses a scope as people type it, such as `JOB`, `jobs:read` or `datasets`. Returns undefined for an unknown name.
 * The login of the `datachain` client accepts only the names EXPERIMENTS and MODELS, which stand for all scopes that
 * are needed to run jobs.
 */
export function parseScope(text: string): Scope[] | undefined {
  const [name = "", level = ""] = text.trim().toUpperCase().split(":");
  if (["EXPERIMENTS", "MODELS"].includes(name)) return clientScopes;
  const singular = (word: string) => word.replace(/S$/, "");
  const known = scopeNames.find((scope) => singular(scope) === singular(name));
  if (!known) return undefined;
  if (level === "") return [`${known}:read`, `${known}:write`];
  return level === "READ" || level === "WRITE" ? [`${known}:${level.toLowerCase() as Level}`] : undefined;
}

export const clientScopes: Scope[] = ["JOB:read", "JOB:write", "PIPELINES:read", "PIPELINES:write", "CLUSTERS:read"];
