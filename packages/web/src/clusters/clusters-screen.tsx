/** The clusters: where jobs run, how many slots are in use, and how many jobs wait. */
import { type Cluster, clusterLimits, routes } from "@millrace/contract";
import { Link } from "wouter";
import { useApi } from "../api/calls.ts";
import { useSession } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { ButtonLink } from "../look/button.tsx";
import { Screen } from "../look/screen.tsx";
import { Empty, Read } from "../look/states.tsx";
import { exactTime } from "../look/time.tsx";
import { jobsPath } from "../paths/job-paths.ts";
import { Lines } from "../plots/lines.tsx";
import { ClusterStatus, isolationWords } from "./cluster-words.tsx";
import "./clusters.css";
import { queueDepth } from "./queue-depth.ts";
import { SlotHolders } from "./slot-holders.tsx";
import { TeamLimits } from "./team-limits.tsx";

export default function ClustersScreen() {
  const { is_admin } = useSession();
  const clusters = useApi(routes.listClusters, { query: {} });
  return (
    <Screen
      title="Clusters"
      actions={is_admin && <ButtonLink href="/administration/clusters">Manage clusters</ButtonLink>}
    >
      <Read from={clusters}>
        {(list) =>
          list.length === 0 ? (
            <Empty title="No cluster accepts jobs">
              <p>The server adds its own machine when it starts. Ask an operator of the server.</p>
            </Empty>
          ) : (
            <div className="clusters">
              {list.map((cluster) => (
                <ClusterCard key={cluster.id} cluster={cluster} />
              ))}
            </div>
          )
        }
      </Read>
      <TeamLimits />
    </Screen>
  );
}

function ClusterCard({ cluster }: { cluster: Cluster }) {
  const team = useTeam();
  const { name, busy_workers: busy, max_workers: all, waiting_jobs: waiting } = cluster;
  const shown = (state: string) => `${jobsPath(team)}?status=${state}&cluster=${encodeURIComponent(name)}`;
  return (
    <section className="card stack" aria-label={name}>
      <header className="row apart wrap">
        <div className="row">
          <h2>{name}</h2>
          {cluster.default && <span className="small soft">default</span>}
        </div>
        <ClusterStatus cluster={cluster} />
      </header>
      {cluster.status_reason !== null && <p className="problem">{cluster.status_reason}</p>}
      <div className="stack tight">
        <div className="row apart">
          <span>Slots in use</span>
          <b className="number">{`${busy} of ${all}`}</b>
        </div>
        <meter className="slots" min={0} max={all} value={busy} aria-label={`${busy} of ${all} slots in use`} />
      </div>
      <dl className="facts">
        <dt>Waiting jobs, all teams</dt>
        <dd>{waiting >= clusterLimits.waiting ? `${clusterLimits.waiting} or more` : waiting}</dd>
        <dt>Jobs of this team</dt>
        <dd>
          <Link href={shown("waiting")}>waiting</Link>, <Link href={shown("running")}>running</Link>
        </dd>
        <dt>Isolation</dt>
        <dd>{`${isolationWords[cluster.isolation]} (${cluster.isolation})`}</dd>
        <dt>Provider</dt>
        <dd>{cluster.cloud_provider === "local" ? "The machine of the server" : cluster.cloud_provider}</dd>
      </dl>
      <SlotHolders cluster={cluster} />
      <QueueDepth name={name} />
    </section>
  );
}

/** Jobs that the plot is made from. */
const recent = 200;

function QueueDepth({ name }: { name: string }) {
  const { data = [], dataUpdatedAt } = useApi(routes.listJobs, { query: { cluster: name, limit: recent } });
  const points = queueDepth(data, dataUpdatedAt);
  if (points.length < 4) return null;
  return (
    <div className="stack tight">
      <h3>Waiting jobs of this team, over its last {data.length} jobs</h3>
      <Lines
        label={`Waiting jobs on ${name}`}
        series={[{ name: "Waiting", points }]}
        format={(value) => String(Math.round(value))}
        formatTime={exactTime}
      />
    </div>
  );
}
