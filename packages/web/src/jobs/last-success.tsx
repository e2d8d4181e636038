/** What has changed since the last successful run with the same name: script, requirements, settings. */
import type { Job } from "@millrace/contract";
import { Link } from "wouter";
import { Empty, Loading } from "../look/states.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";
import "./job.css";
import { jobPath } from "../paths/job-paths.ts";
import { type Changed, changedSettings } from "./changes.ts";
import { type DiffLine, diffLines, nearChanges } from "./line-diff.ts";
import { useLastSuccess } from "./use-last-success.ts";

export function LastSuccess({ job }: { job: Job }) {
  const before = useLastSuccess(job);
  if (before === null)
    return (
      <Empty title="No earlier success">
        <p>When a run with this name is complete, later runs show here what has changed since.</p>
      </Empty>
    );
  return before ? <Difference before={before} job={job} /> : <Loading />;
}

const columns: readonly Column<Changed>[] = [
  { title: "Setting", cell: ({ name }) => name },
  { title: "Then", cell: ({ before }) => before || "–" },
  { title: "Now", wide: true, cell: ({ after }) => after || "–" },
];

function Difference({ before, job }: { before: Job; job: Job }) {
  const changed = changedSettings(before, job);
  const short = changed.filter((one) => !`${one.before}${one.after}`.includes("\n"));
  const long = changed.filter((one) => !short.includes(one));
  const hasOtherScript = before.query !== job.query;
  return (
    <div className="stack">
      <p>
        Compared with the <Link href={jobPath(before.team, before.id)}>last successful run</Link>,{" "}
        <Time at={before.created_at} />.
      </p>
      {changed.length === 0 && !hasOtherScript && (
        <p>
          {job.status === "FAILED"
            ? "Script, requirements and settings are the same, so the difference is in the data or the surroundings."
            : "Script, requirements and settings are the same."}
        </p>
      )}
      {hasOtherScript && <DiffOf title="Script" before={before.query} after={job.query} />}
      {long.map((one) => (
        <DiffOf key={one.name} title={one.name} before={one.before} after={one.after} />
      ))}
      {short.length > 0 && (
        <Table label="Changed settings" columns={columns} items={short} keyOf={({ name }) => name} />
      )}
    </div>
  );
}

const signs: Readonly<Record<DiffLine["kind"], string>> = { same: "  ", added: "+ ", removed: "− ", skipped: "⋯ " };

const DiffOf = ({ title, before, after }: { title: string; before: string; after: string }) => (
  <section className="stack tight">
    <h2>{title}</h2>
    <pre className="code diff">
      {nearChanges(diffLines(before, after)).map((line, index) => (
        <div key={index} className={line.kind}>
          {signs[line.kind] + line.text}
        </div>
      ))}
    </pre>
  </section>
);
