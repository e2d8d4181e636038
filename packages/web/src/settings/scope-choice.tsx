/** Chooses the scopes of a token: for each noun nothing, reading, or reading and writing. */
import { type Scope, type ScopeName, scopeNames } from "@millrace/contract";
import { Fragment, useId } from "react";

const words: Readonly<Record<ScopeName, string>> = {
  JOB: "Jobs, logs, files, own credentials",
  DATASETS: "Datasets",
  PIPELINES: "Pipelines and schedules",
  CLUSTERS: "Clusters",
  ADMIN: "Settings, members and tokens",
};

type Level = "none" | "read" | "write";
export type Levels = Readonly<Partial<Record<ScopeName, Level>>>;

/** The scopes that these levels stand for. */
export const scopesOf = (levels: Levels): Scope[] =>
  scopeNames.flatMap((name): Scope[] => {
    const level = levels[name] ?? "none";
    if (level === "none") return [];
    return level === "read" ? [`${name}:read`] : [`${name}:read`, `${name}:write`];
  });

interface ScopeChoiceProps {
  readonly value: Levels;
  readonly onChange: (levels: Levels) => void;
  /** Nouns that can be chosen. */
  readonly names?: readonly ScopeName[];
}

export function ScopeChoice({ value, onChange, names = scopeNames }: ScopeChoiceProps) {
  const id = useId();
  return (
    <fieldset className="plain">
      <legend>Scopes</legend>
      <div className="scopes">
        {names.map((name) => (
          <Fragment key={name}>
            <code>{name}</code>
            <select
              aria-label={`Scope ${name}`}
              aria-describedby={`${id}-${name}`}
              value={value[name] ?? "none"}
              onChange={(event) => onChange({ ...value, [name]: event.currentTarget.value as Level })}
            >
              <option value="none">nothing</option>
              <option value="read">read</option>
              <option value="write">read and write</option>
            </select>
            <span id={`${id}-${name}`} className="soft small">
              {words[name]}
            </span>
          </Fragment>
        ))}
      </div>
    </fieldset>
  );
}

/** Scopes in few words: `JOB, DATASETS:read`. */
export const scopeText = (scopes: readonly string[]) =>
  scopeNames
    .flatMap((name) => {
      if (scopes.includes(`${name}:write`)) return [name];
      return scopes.includes(`${name}:read`) ? [`${name}:read`] : [];
    })
    .join(", ");
