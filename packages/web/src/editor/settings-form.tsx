/** The settings of the job that is being written. */
import { routes } from "@millrace/contract";
import type { ReactNode } from "react";
import { useApi } from "../api/calls.ts";
import { Check, Choice, TextArea, TextField } from "../look/field.tsx";
import { priorities } from "../look/priority.ts";
import type { Draft, DraftForm } from "./draft.ts";
import { FilesField } from "./files-field.tsx";

export const SettingsForm = (props: DraftForm) => (
  <div className="settings-form stack">
    <Group title="Environment" open={uses(props.draft, "requirements", "environment", "python", "params")}>
      <EnvironmentFields {...props} />
    </Group>
    <Group
      title="Files and repository"
      open={uses(props.draft, "repository", "script") || props.draft.files.length > 0}
    >
      <SourceFields {...props} />
    </Group>
    <Group title="Where it runs" open={false}>
      <PlaceFields {...props} />
    </Group>
    <Group title="When it runs" open={props.draft.start !== "now"}>
      <TimeFields {...props} />
    </Group>
    <Group title="Failures" open={uses(props.draft, "timeout", "retries", "retryDelay")}>
      <FailureFields {...props} />
    </Group>
  </div>
);

const uses = (draft: Draft, ...names: (keyof Draft)[]) => names.some((name) => draft[name] !== "");

const Group = ({ title, open, children }: { title: string; open: boolean; children: ReactNode }) => (
  <details className="settings-group" open={open}>
    <summary>{title}</summary>
    <div className="settings-fields">{children}</div>
  </details>
);

const EnvironmentFields = ({ draft, change }: DraftForm) => (
  <>
    <TextArea
      label="Requirements"
      hint="As in a requirements file, one package per line"
      spellCheck={false}
      value={draft.requirements}
      onText={(requirements) => change({ requirements })}
    />
    <TextArea
      label="Variables"
      hint="NAME=VALUE lines. Secrets belong in credentials"
      spellCheck={false}
      value={draft.environment}
      onText={(environment) => change({ environment })}
    />
    <TextArea
      label="Parameters"
      hint="NAME=VALUE lines, or a JSON object"
      spellCheck={false}
      value={draft.params}
      onText={(params) => change({ params })}
    />
    <TextField
      label="Python version"
      hint="Such as 3.12, or >=3.10,<3.13"
      value={draft.python}
      onText={(python) => change({ python })}
    />
  </>
);

const SourceFields = ({ draft, change }: DraftForm) => (
  <>
    <FilesField draft={draft} change={change} />
    <TextField
      label="Repository"
      hint="Git URL, optionally with @revision"
      value={draft.repository}
      onText={(repository) => change({ repository })}
    />
    <TextField
      label="Script in the repository"
      hint="Path of a file that runs instead of the text of the editor"
      value={draft.script}
      onText={(script) => change({ script })}
    />
  </>
);

function PlaceFields({ draft, change }: DraftForm) {
  const clusters = useApi(routes.listClusters, { query: {} }).data ?? [];
  return (
    <>
      <Choice label="Cluster" value={draft.cluster} onText={(cluster) => change({ cluster })}>
        <option value="">Default</option>
        {clusters.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </Choice>
      <TextField
        label="Slots"
        type="number"
        min={1}
        value={draft.workers}
        onText={(workers) => change({ workers })}
        hint="Slots of the cluster that the job occupies"
      />
      <Choice label="Priority" value={draft.priority} onText={(priority) => change({ priority })}>
        {priorities.map((words, priority) => (
          <option key={words} value={String(priority)}>
            {words}
          </option>
        ))}
      </Choice>
      <CredentialsField draft={draft} change={change} />
      <TextField label="Tags" placeholder="nightly, gpu" value={draft.tags} onText={(tags) => change({ tags })} />
    </>
  );
}

function CredentialsField({ draft: { credentials }, change }: DraftForm) {
  const known = useApi(routes.listCredentials, { query: {} }).data ?? [];
  const chosen = typeof credentials === "string" ? [] : credentials;
  const names = [...new Set([...known.map(({ name }) => name), ...chosen])];
  const usual = known.find((set) => set.default)?.name;
  const toggle = (name: string, on: boolean) => {
    const after = on ? [...chosen, name] : chosen.filter((other) => other !== name);
    change({ credentials: after.length === 0 ? "default" : after });
  };
  return (
    <fieldset className="credentials-field stack tight">
      <legend>Credentials</legend>
      <Check
        label={`Default of the team${usual === undefined ? " (none)" : ` (${usual})`}`}
        checked={credentials === "default"}
        onCheck={() => change({ credentials: "default" })}
      />
      <Check label="None" checked={credentials === "none"} onCheck={() => change({ credentials: "none" })} />
      {names.map((name) => (
        <Check key={name} label={name} checked={chosen.includes(name)} onCheck={(on) => toggle(name, on)} />
      ))}
    </fieldset>
  );
}

const TimeFields = ({ draft, change }: DraftForm) => (
  <>
    <Choice label="Start" value={draft.start} onText={(start) => change({ start: start as Draft["start"] })}>
      <option value="now">Now</option>
      <option value="later">Once, later</option>
      <option value="cron">Again and again, by a cron expression</option>
    </Choice>
    {draft.start === "later" && (
      <TextField
        label="Start at"
        type="datetime-local"
        value={draft.startAfter}
        onText={(startAfter) => change({ startAfter })}
      />
    )}
    {draft.start === "cron" && <CronFields draft={draft} change={change} />}
  </>
);

const CronFields = ({ draft, change }: DraftForm) => (
  <>
    <TextField
      label="Cron expression"
      hint="Minute, hour, day, month, weekday; or @hourly, @daily, @weekly"
      placeholder="0 3 * * *"
      value={draft.cron}
      onText={(cron) => change({ cron })}
    />
    <TextField
      label="Time zone"
      placeholder="UTC"
      hint="Such as Europe/Berlin"
      value={draft.timezone}
      onText={(timezone) => change({ timezone })}
    />
  </>
);

const FailureFields = ({ draft, change }: DraftForm) => (
  <>
    <TextField
      label="Time limit in seconds"
      type="number"
      min={0}
      value={draft.timeout}
      onText={(timeout) => change({ timeout })}
      hint="Empty: the default of the team. 0: no limit"
    />
    <TextField
      label="Retries"
      type="number"
      min={0}
      value={draft.retries}
      onText={(retries) => change({ retries })}
      hint="After a failure"
    />
    <TextField
      label="Delay of retries in seconds"
      type="number"
      min={0}
      value={draft.retryDelay}
      onText={(retryDelay) => change({ retryDelay })}
      hint="Doubles with each retry"
    />
    {draft.from !== "" && (
      <Check
        label="Start from scratch, ignoring checkpoints"
        checked={draft.reset}
        onCheck={(reset) => change({ reset })}
      />
    )}
  </>
);
