/** The state of the server: version, disk, memory, queue. */
import { routes, type SystemState } from "@millrace/contract";
import { useApi } from "../api/calls.ts";
import { bytesText } from "../look/amount.ts";
import { Button } from "../look/button.tsx";
import { Meter } from "../look/meter.tsx";
import { Empty, Read } from "../look/states.tsx";
import { Status } from "../look/status.tsx";
import { type Column, Table } from "../look/table.tsx";
import { duration, Time } from "../look/time.tsx";
import "../settings/settings.css";

export function SystemTab() {
  const state = useApi(routes.getSystem, {}, { staleTime: 0 });
  return (
    <>
      <div className="row">
        <Button icon="again" busy={state.isFetching} onClick={() => void state.refetch()}>
          Refresh
        </Button>
      </div>
      <Read from={state}>{(found) => <State state={found} />}</Read>
    </>
  );
}

const State = ({ state }: { state: SystemState }) => (
  <>
    <div className="settings-columns">
      <section className="card stack">
        <h2>Server</h2>
        <Facts state={state} />
      </section>
      <section className="card stack">
        <h2>Slots</h2>
        {state.clusters.map(({ name, busy, slots, waiting, oldest_seconds }) => (
          <div key={name} className="stack tight">
            <Meter label={`Cluster ${name}`} value={busy} limit={slots} format={String} />
            <p className="small soft">
              {waiting === 0
                ? "No job waits."
                : `${waiting} waiting; the oldest for ${duration(oldest_seconds * 1000)}.`}
            </p>
          </div>
        ))}
      </section>
    </div>
    <h2>Busy teams</h2>
    {state.teams.length > 0 ? (
      <Table label="Busy teams" columns={columns} items={state.teams} keyOf={({ name }) => name} />
    ) : (
      <Empty title="No team has running or waiting jobs" />
    )}
  </>
);

const columns: readonly Column<SystemState["teams"][number]>[] = [
  { title: "Team", wide: true, cell: ({ name }) => name },
  { title: "Running", number: true, cell: ({ running }) => running },
  { title: "Waiting", number: true, cell: ({ waiting }) => waiting },
];

const Facts = ({ state }: { state: SystemState }) => (
  <dl className="facts">
    <dt>State</dt>
    <dd>
      <Status status={state.ready ? "COMPLETE" : "FAILED"} word={state.ready ? "Ready" : "Not ready"} />
    </dd>
    <dt>Version</dt>
    <dd>
      {state.version} on Node {state.node}
    </dd>
    <dt>Started</dt>
    <dd>
      <Time at={state.started_at} />
    </dd>
    <dt>Memory</dt>
    <dd>{bytesText(state.memory_bytes)}</dd>
    <dt>Free disk</dt>
    <dd>
      {bytesText(state.disk_free_bytes)}
      {state.disk_low && <span className="bad"> Too little: no job is started.</span>}
    </dd>
    <dt>E-mail</dt>
    <dd>{state.sends_mail ? "set up" : "not set up (MILLRACE_SMTP_URL)"}</dd>
  </dl>
);
