/** Removes a cluster, if asked for also with jobs on it. */
import { type ManagedCluster, routes } from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { AskFirst } from "../look/dialog.tsx";
import { Check } from "../look/field.tsx";

export function RemoveCluster({ cluster: { name }, onClose }: { cluster: ManagedCluster; onClose: () => void }) {
  const [force, setForce] = useState(false);
  const remove = useAction(routes.deleteCluster);
  const input = { params: { cluster_name: name }, query: force ? { force } : {} };
  return (
    <AskFirst
      title={`Remove ${name}?`}
      action="Remove"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate(input, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>The cluster is removed with its options and secrets. Jobs that ran on it stay, with their logs.</p>
      <Check
        label="Also if jobs run or wait there: those that run are lost, those that wait fail"
        checked={force}
        onCheck={setForce}
      />
    </AskFirst>
  );
}
