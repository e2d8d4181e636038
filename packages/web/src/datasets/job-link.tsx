/** A link to the job that created a version. */
import { Link } from "wouter";
import { useTeam } from "../api/team.tsx";
import { jobPath } from "../paths/job-paths.ts";

export function JobLink({ id }: { id: string | null }) {
  const team = useTeam();
  if (id === null) return <span className="soft">–</span>;
  return (
    <Link href={jobPath(team, id)} className="mono" title={`Job ${id}`}>
      job {id.slice(0, 8)}
    </Link>
  );
}
