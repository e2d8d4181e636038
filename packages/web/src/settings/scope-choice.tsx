/** Chooses the scopes of a token: for each noun nothing, reading, or reading and writing. */
import { type Scope, type ScopeName, scopeNames, scopeTitles } from "@millrace/contract";
import { Fragment, useId } from "react";

const words: Readonly<Record<ScopeName, string>> = {
  JOB: "Also their logs and files, and own credentials",
  DATASETS: "Also their rows and exports",
  PIPELINES: "Also schedules and backfills",
  CLUSTERS: "Where jobs run",
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
            <label htmlFor={`${id}-${name}-level`} title={name}>
              {scopeTitles[name]}
            </label>
            <select
              id={`${id}-${name}-level`}
              aria-describedby={`${id}-${name}`}
              value={value[name] ?? "none"}
              onChange={(event) => onChange({ ...value, [name]: event.currentTarget.value as Level })}
            >
              <option value="none">no access</option>
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
