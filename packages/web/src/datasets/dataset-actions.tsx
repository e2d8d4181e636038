/** What can be done with a dataset: rebuild, edit, remove. */
import { routes, versionStatus } from "@millrace/contract";
import { useState } from "react";
import { useLocation } from "wouter";
import { useAction } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { teamPath, useTeam } from "../api/team.tsx";
import { countOf } from "../look/amount.ts";
import { Button } from "../look/button.tsx";
import { CopyAs } from "../look/copy-as.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { datasetPath, datasetsPath, fullNameOf } from "../paths/dataset-paths.ts";
import { copyDataset } from "./copy-dataset.ts";
import { EditDataset } from "./edit-dataset.tsx";
import type { Shown } from "./shown.ts";

export function DatasetActions({ dataset, version }: Shown) {
  const team = useTeam();
  const [, go] = useLocation();
  const refusal = useRefusal("editor");
  const [open, setOpen] = useState<"edit" | "remove">();
  const close = () => setOpen(undefined);
  const rebuild = teamPath(team, `/pipelines/new?dataset=${encodeURIComponent(fullNameOf(dataset))}`);
  const unmade =
    version.job_id === null ? "No job of this team made this version, so nothing can rebuild it." : undefined;
  const isGone = liveOf(dataset) === 0 ? "All versions were already removed." : undefined;
  return (
    <>
      <CopyAs actions={copyDataset(fullNameOf(dataset), version)} />
      <Button icon="edit" refusal={refusal} onClick={() => setOpen("edit")}>
        Edit
      </Button>
      <Button icon="bin" kind="danger" refusal={refusal ?? isGone} onClick={() => setOpen("remove")}>
        Remove
      </Button>
      <Button icon="again" kind="main" refusal={refusal ?? unmade} onClick={() => go(rebuild)}>
        Rebuild
      </Button>
      {open === "edit" && <EditDataset dataset={dataset} onClose={close} />}
      {open === "remove" && <RemoveDataset dataset={dataset} version={version} onClose={close} />}
    </>
  );
}

const liveOf = ({ versions }: Shown["dataset"]) =>
  versions.filter(({ status }) => status === versionStatus.complete).length;

/** Asks whether to remove one version, or all. */
function RemoveDataset({ dataset, version, onClose }: Shown & { onClose: () => void }) {
  const team = useTeam();
  const [, go] = useLocation();
  const remove = useAction(routes.removeDataset);
  const name = fullNameOf(dataset);
  const live = liveOf(dataset);
  const isGone = version.status === versionStatus.removed;
  const [all, setAll] = useState(isGone);
  const [body, next] = all
    ? [{ name, force: true }, datasetsPath(team)]
    : [{ name, version: version.version }, datasetPath(team, name, { tab: "versions" })];
  const done = () => {
    onClose();
    go(next);
  };
  return (
    <AskFirst
      title={`Remove ${name}?`}
      action={all ? `Remove ${countOf(live, "version")}` : "Remove the version"}
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => remove.mutate({ body }, { onSuccess: done })}
    >
      <fieldset className="remove-choice stack tight">
        <legend className="hidden-text">What to remove</legend>
        {!isGone && (
          <label className="check row">
            <input type="radio" name="what" checked={!all} onChange={() => setAll(false)} />
            Only version {version.version}
          </label>
        )}
        <label className="check row">
          <input type="radio" name="what" checked={all} onChange={() => setAll(true)} />
          The dataset with its {countOf(live, "version")}
        </label>
      </fieldset>
      <p>{all ? allGone : oneGone}</p>
    </AskFirst>
  );
}

const oneGone =
  "This deletes the rows of the version. They cannot be restored here. Its number is not used again, and the lineage keeps showing it. Its download links stop working.";
const allGone =
  "This deletes the rows of all versions. They cannot be restored here. Jobs that read this dataset will fail.";
