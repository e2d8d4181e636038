/** Runs a job that does nothing on a cluster, and tells step by step what works. */
import { type ClusterTest, type ManagedCluster, managedClusterLimits, routes } from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { Dialog } from "../look/dialog.tsx";
import { TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";
import { Status } from "../look/status.tsx";

const usualSeconds = "60";

export function TestCluster({ cluster: { name }, onClose }: { cluster: ManagedCluster; onClose: () => void }) {
  const [seconds, setSeconds] = useState(usualSeconds);
  const test = useAction(routes.testCluster);
  return (
    <Dialog title={`Test ${name}`} onClose={onClose}>
      <Form
        action="Run the test"
        onSubmit={() => test.mutate({ params: { cluster_name: name }, body: { seconds: Number(seconds) } })}
        busy={test.isPending}
        error={test.error}
      >
        <p>Runs a job that does nothing on the cluster. Other jobs are not affected.</p>
        <TextField
          label="Seconds that it may take"
          name="seconds"
          type="number"
          min={1}
          max={managedClusterLimits.testSeconds}
          required
          value={seconds}
          onText={setSeconds}
        />
        <div role="status">
          {test.isPending && <p className="soft">The test runs. It takes up to {seconds} seconds.</p>}
          {test.data && !test.isPending && <Result result={test.data} />}
        </div>
      </Form>
    </Dialog>
  );
}

const Result = ({ result: { ok, steps } }: { result: ClusterTest }) => (
  <div className="stack tight">
    <p>
      <b>{ok ? "The cluster works." : "The cluster does not work yet."}</b>
    </p>
    <ol className="stack tight">
      {steps.map((step) => (
        <li key={step.name}>
          <Status status={step.ok ? "COMPLETE" : "FAILED"} word={step.name} />{" "}
          <span className="soft">{`${step.seconds} s`}</span>
          <div className="wrapped">{step.message}</div>
        </li>
      ))}
    </ol>
  </div>
);
