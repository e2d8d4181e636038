/** The work that runs with a user's rights. */
import type { Work } from "@millrace/contract";
import { countOf } from "../look/amount.ts";

interface Line {
  readonly key: string;
  readonly text: string;
}

/** What is listed, noun by noun, and what happens to it. */
const parts = (work: Work): readonly { noun: string; note: string; lines: readonly Line[] }[] => [
  {
    noun: "schedule",
    note: "handed over",
    lines: work.schedules.map(({ id, name, team }) => ({ key: `${id}`, text: `${team}: ${name}` })),
  },
  {
    noun: "task",
    note: "handed over",
    lines: work.tasks.map(({ id, name, team }) => ({ key: id, text: `${team}: ${name ?? id}` })),
  },
  {
    noun: "unfinished pipeline",
    note: "handed over",
    lines: work.pipelines.map(({ id, name, team }) => ({ key: id, text: `${team}: ${name}` })),
  },
  {
    noun: "running or waiting job",
    note: "continues",
    lines: work.jobs.map(({ id, name, team }) => ({ key: id, text: `${team}: ${name ?? id}` })),
  },
  {
    noun: "own credential",
    note: "not handed over",
    lines: work.credentials.map(({ name, replaced_by, team }) => ({
      key: `${team} ${name}`,
      text: `${team}: ${name}${replaced_by === "missing" ? " (missing for the new owner)" : ""}`,
    })),
  },
  {
    noun: "token",
    note: "not handed over",
    lines: work.tokens.map(({ id, name }) => ({ key: `${id}`, text: name })),
  },
];

export function WorkList({ work }: { work: Work }) {
  const found = parts(work).filter(({ lines }) => lines.length > 0);
  if (found.length === 0) return <p className="soft">No work runs with the rights of this user.</p>;
  return (
    <div className="stack tight">
      {found.map(({ noun, note, lines }) => (
        <details key={noun}>
          <summary>
            {countOf(lines.length, noun)} <span className="soft">({note})</span>
          </summary>
          <ul>
            {lines.map(({ key, text }) => (
              <li key={key}>{text}</li>
            ))}
          </ul>
        </details>
      ))}
    </div>
  );
}
