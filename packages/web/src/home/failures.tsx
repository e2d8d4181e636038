/** What failed since yesterday, with the reason. */
import { Link } from "wouter";
import { useTeam } from "../api/team.tsx";
import { Icon } from "../look/icon.tsx";
import { withoutIds } from "../look/reason.ts";
import { Status } from "../look/status.tsx";
import { Time } from "../look/time.tsx";
import { jobPath } from "../paths/job-paths.ts";
import { pipelinePath } from "../paths/pipeline-paths.ts";
import type { Failure } from "./verdict.ts";

/** Number of failures that the home shows. */
const shown = 10;

export function Failures({ failures }: { failures: readonly Failure[] }) {
  if (failures.length === 0) return <p className="soft">Nothing failed.</p>;
  return (
    <>
      <ul className="failures card">
        {failures.slice(0, shown).map((failure) => (
          <OneFailure key={failure.id} failure={failure} />
        ))}
      </ul>
      {failures.length > shown && <p className="soft">And {failures.length - shown} more.</p>}
    </>
  );
}

function OneFailure({ failure: { kind, id, name, reason, at, isMended } }: { failure: Failure }) {
  const team = useTeam();
  return (
    <li className="stack tight">
      <div className="row wrap">
        <Status status={isMended ? "COMPLETED" : "FAILED"} word={isMended ? "Failed, completed later" : "Failed"} />
        <Link href={kind === "job" ? jobPath(team, id) : pipelinePath(team, id)} className="row name">
          <Icon name={kind === "job" ? "jobs" : "pipelines"} />
          <span>{name}</span>
        </Link>
        <span className="soft small">
          <Time at={at} />
        </span>
      </div>
      {reason !== null && <p className="reason small">{withoutIds(reason)}</p>}
    </li>
  );
}
