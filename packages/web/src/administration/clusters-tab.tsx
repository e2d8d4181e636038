/** The clusters of the server as an administrator manages them. */
import { localEngine, type ManagedCluster, routes } from "@millrace/contract";
import { type ReactNode, useState } from "react";
import { useAction, useApi } from "../api/calls.ts";
import { ClusterStatus, isolationWords } from "../clusters/cluster-words.tsx";
import { Button } from "../look/button.tsx";
import { Problem, Read } from "../look/states.tsx";
import "../settings/settings.css";
import { ClusterForm } from "./cluster-form.tsx";
import { ClusterOptions } from "./cluster-options.tsx";
import { TestCluster } from "./cluster-test.tsx";
import { RemoveCluster } from "./remove-cluster.tsx";

type What = "change" | "test" | "remove";
interface Open {
  readonly what: What;
  readonly cluster: ManagedCluster;
}

/** Milliseconds between two looks: nothing else says that a cluster can be reached again. */
const lookAgain = 5000;

export function ClustersTab() {
  const clusters = useApi(routes.listManagedClusters, {}, { refetchInterval: lookAgain });
  const [open, setOpen] = useState<Open | "new">();
  const close = () => setOpen(undefined);
  return (
    <>
      <div className="row">
        <Button kind="main" icon="plus" onClick={() => setOpen("new")}>
          Add cluster
        </Button>
      </div>
      <Read from={clusters}>
        {(list) => (
          <>
            {list.every(({ engine }) => engine === localEngine) && <OnlyLocal />}
            <div className="settings-columns">
              {list.map((cluster) => (
                <ClusterCard key={cluster.id} cluster={cluster} onOpen={(what) => setOpen({ what, cluster })} />
              ))}
            </div>
          </>
        )}
      </Read>
      {open === "new" && <ClusterForm onClose={close} />}
      {typeof open === "object" && <OpenDialog open={open} onClose={close} />}
    </>
  );
}

const OnlyLocal = () => (
  <p className="soft">
    All jobs run on the machine of the server. Add a cluster to run jobs on Slurm, Ray or Kubernetes.
  </p>
);

const dialogs = { change: ClusterForm, test: TestCluster, remove: RemoveCluster } as const;

function OpenDialog({ open: { what, cluster }, onClose }: { open: Open; onClose: () => void }) {
  const Opened = dialogs[what];
  return <Opened cluster={cluster} onClose={onClose} />;
}

interface CardProps {
  readonly cluster: ManagedCluster;
  readonly onOpen: (what: What) => void;
}

function ClusterCard({ cluster, onOpen }: CardProps) {
  const { name, status_reason: why, secrets } = cluster;
  const isLocal = cluster.engine === localEngine;
  return (
    <section className="card stack" aria-label={name}>
      <header className="row apart wrap">
        <h2>{name}</h2>
        <ClusterStatus cluster={cluster} />
      </header>
      {why !== null && <p className="problem">{why}</p>}
      <Facts cluster={cluster} />
      {!isLocal && <ClusterOptions cluster={cluster} />}
      {secrets.length > 0 && <p className="small soft">{`Secrets that are set: ${secrets.join(", ")}`}</p>}
      <StateButtons cluster={cluster}>
        <Button aria-label={`Change ${name}`} onClick={() => onOpen("change")}>
          Change
        </Button>
        <Button aria-label={`Test ${name}`} onClick={() => onOpen("test")}>
          Test
        </Button>
        <Button
          kind="danger"
          aria-label={`Remove ${name}`}
          refusal={isLocal ? "The machine of the server cannot be removed. Pause it instead." : undefined}
          onClick={() => onOpen("remove")}
        >
          Remove
        </Button>
      </StateButtons>
    </section>
  );
}

const Facts = ({ cluster }: { cluster: ManagedCluster }) => (
  <dl className="facts">
    <dt>Engine</dt>
    <dd>{cluster.engine === localEngine ? "The machine of the server" : cluster.engine}</dd>
    <dt>Slots in use</dt>
    <dd>{`${cluster.busy_workers} of ${cluster.max_workers}`}</dd>
    <dt>Waiting jobs</dt>
    <dd>{cluster.waiting_jobs}</dd>
    <dt>Isolation</dt>
    <dd>{`${isolationWords[cluster.isolation]} (${cluster.isolation})`}</dd>
    <dt>Teams</dt>
    <dd>{cluster.teams?.join(", ") ?? "all"}</dd>
    <dt>Default</dt>
    <dd>{defaultWords(cluster)}</dd>
  </dl>
);

function defaultWords({ default: isDefault, default_of }: ManagedCluster): string {
  const teams = default_of.length === 0 ? "" : `of ${default_of.join(", ")}`;
  return isDefault ? `of all teams without their own${teams && `, and ${teams}`}` : teams || "no";
}

/** Pause, drain and resume can be undone, so that they do not ask first. */
function StateButtons({ cluster: { name, state }, children }: { cluster: ManagedCluster; children: ReactNode }) {
  const change = useAction(routes.updateCluster);
  const to = (next: ManagedCluster["state"], word: string, what: string) =>
    state !== next && (
      <Button
        aria-label={`${word} ${name}`}
        title={what}
        busy={change.isPending}
        onClick={() => change.mutate({ params: { cluster_name: name }, body: { state: next } })}
      >
        {word}
      </Button>
    );
  return (
    <>
      <Problem error={change.error} />
      <div className="row wrap">
        {to("ACTIVE", "Resume", "Start jobs again")}
        {to("PAUSED", "Pause", "Accept jobs, and start none")}
        {to("DRAINING", "Drain", "Accept and start no jobs; running jobs go on")}
        {children}
      </div>
    </>
  );
}
