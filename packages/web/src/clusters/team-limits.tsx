/** The limits of the team that hold for all clusters. */
import { routes } from "@millrace/contract";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";

export function TeamLimits() {
  const team = useTeam();
  const { data } = useApi(routes.getTeam, { params: { team_name: team } });
  if (!data) return null;
  const limit = (value: number | null) => (value === null ? "the default of the server" : value === 0 ? "none" : value);
  return (
    <section className="stack tight" aria-label="Limits of the team">
      <h2>Limits of the team</h2>
      <dl className="facts">
        <dt>Jobs running at the same time</dt>
        <dd>{limit(data.max_running)}</dd>
        <dt>Jobs waiting</dt>
        <dd>{limit(data.max_queued)}</dd>
      </dl>
    </section>
  );
}
