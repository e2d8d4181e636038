/** Who may do what: scopes of tokens and roles of people. */

export const roles = ["viewer", "editor", "admin"] as const;
export type Role = (typeof roles)[number];

export const scopeNames = ["JOB", "DATASETS", "PIPELINES", "CLUSTERS", "ADMIN"] as const;
export type ScopeName = (typeof scopeNames)[number];
export type Level = "read" | "write";
export type Scope = `${ScopeName}:${Level}`;

export const allScopes: readonly Scope[] = scopeNames.flatMap((name) => [`${name}:read`, `${name}:write`] as const);

/** What a route asks of its caller. `public` routes say why they need no token. */
export type Access =
  | {
      kind: "token";
      scope: Scope;
      role: Role;
      /** Administrators of the server may do it in every team. */
      administrators?: true;
      people?: People;
    }
  /** An administrator of the whole server, whatever the team; never a job's own token. */
  | { kind: "admin"; scope: Scope; why: string }
  | { kind: "signed-in"; why: string; scope?: Scope; people?: People }
  | { kind: "public"; why: string };

/** For people and the tokens they made, never for the token of a job: nothing that a job can read may make new rights. */
type People = true;

/** Checks scopes and roles: write access includes read access, and a role includes the ones before it. */
export function permits(granted: readonly Scope[], wanted: Scope): boolean {
  return (
    granted.includes(wanted) ||
    (wanted.endsWith(":read") && granted.includes(wanted.replace(/read$/, "write") as Scope))
  );
}
export const roleIncludes = (has: Role, wanted: Role) => roles.indexOf(has) >= roles.indexOf(wanted);

/**
 * Scopes as people type them: `JOB`, `jobs:read`, `datasets`. The client's own names (EXPERIMENTS, DATASETS,
 * MODELS) also grant what running jobs needs: its login accepts no others, and a login that cannot run a job
 * is of no use. Returns undefined for a name that does not exist.
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
