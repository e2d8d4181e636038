/** The settings of a pipeline as a form. What was typed stays if the server refuses it. */
import { type Pipeline, routes } from "@millrace/contract";
import { type FormEvent, useState } from "react";
import { useApi } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { Button } from "../look/button.tsx";
import { Check, Choice, TextArea, TextField } from "../look/field.tsx";
import { priorities } from "../look/priority.ts";
import { Problem } from "../look/states.tsx";
import { actionRefusal } from "./pipeline-actions.ts";
import { changesOf, type Settings, settingsOf } from "./settings.ts";
import { usePipelineChange } from "./use-pipeline-change.ts";
import "./settings.css";

export function SettingsView({ pipeline }: { pipeline: Pipeline }) {
  const role = useRefusal("editor");
  const refusal = role ?? actionRefusal("settings", pipeline.status);
  const before = settingsOf(pipeline);
  const [typed, setTyped] = useState<Partial<Settings>>({});
  const after = { ...before, ...typed };
  const changes = changesOf(before, after);
  const saving = usePipelineChange("updatePipelineSettings");
  const change = (some: Partial<Settings>) => setTyped({ ...typed, ...some });
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (refusal !== undefined) return;
    saving.change({ body: { pipeline_id: pipeline.pipeline_id, ...changes } }, () => setTyped({}));
  };
  const isChanged = Object.keys(changes).length > 0;
  return (
    <form className="stack pipeline-settings" onSubmit={save}>
      <p className="soft">Settings apply to every job that has not started. An empty field changes nothing.</p>
      <Environment settings={after} change={change} />
      <Resources settings={after} change={change} />
      <Secrets settings={after} change={change} mayList={role === undefined} />
      <Problem error={saving.error} />
      <div className="row wrap">
        <Button
          type="submit"
          kind="main"
          busy={saving.busy}
          refusal={refusal ?? (isChanged ? undefined : "Nothing is changed.")}
        >
          Save the settings
        </Button>
        {saving.isDone && !isChanged && <span role="status">Saved.</span>}
      </div>
    </form>
  );
}

interface PartProps {
  readonly settings: Settings;
  readonly change: (some: Partial<Settings>) => void;
}

const Environment = ({ settings, change }: PartProps) => (
  <fieldset className="card">
    <legend>Code</legend>
    <TextField
      label="Python version"
      placeholder="3.12"
      value={settings.python_version}
      onText={(python_version) => change({ python_version })}
    />
    <TextField
      label="Repository"
      placeholder="https://github.com/org/repo@main"
      value={settings.repository}
      onText={(repository) => change({ repository })}
    />
    <TextArea
      label="Requirements"
      className="mono"
      placeholder="pandas==2.2"
      value={settings.requirements}
      onText={(requirements) => change({ requirements })}
    />
    <TextArea
      label="Environment variables"
      className="mono"
      hint="NAME=VALUE lines, added to the variables of each job"
      value={settings.environment}
      onText={(environment) => change({ environment })}
    />
  </fieldset>
);

const Resources = ({ settings, change }: PartProps) => (
  <fieldset className="card">
    <legend>Resources and retries</legend>
    <Choice label="Priority" value={settings.priority} onText={(priority) => change({ priority })}>
      <option value="">unchanged</option>
      {priorities.map((words, priority) => (
        <option key={words} value={priority}>
          {words}
        </option>
      ))}
    </Choice>
    <Amount label="Slots" name="workers" settings={settings} change={change} />
    <Amount label="Time limit in seconds" hint="0 means no limit" name="timeout" settings={settings} change={change} />
    <Amount label="Retries after a failure" name="retries" settings={settings} change={change} />
    <Amount label="Seconds before the first retry" name="retry_delay" settings={settings} change={change} />
    <Check
      label="Reuse listings of storages that are at most four hours old"
      checked={settings.reuse_listings}
      onCheck={(reuse_listings) => change({ reuse_listings })}
    />
  </fieldset>
);

type AmountName = "workers" | "timeout" | "retries" | "retry_delay";

const Amount = ({
  settings,
  change,
  name,
  ...rest
}: PartProps & { name: AmountName; label: string; hint?: string }) => (
  <TextField
    {...rest}
    type="number"
    min={0}
    placeholder="unchanged"
    value={settings[name]}
    onText={(text) => change({ [name]: text })}
  />
);

/** Viewers may not list credentials; they see the names that are set. */
function Secrets({ settings, change, mayList }: PartProps & { mayList: boolean }) {
  const { data = [] } = useApi(routes.listCredentials, { query: {} }, { enabled: mayList });
  const chosen = settings.credentials_names;
  const names = [...new Set([...data.map(({ name }) => name), ...chosen])];
  return (
    <fieldset className="card">
      <legend>Credentials</legend>
      {names.length === 0 && <p className="soft">The team has no credentials.</p>}
      {names.map((name) => (
        <Check
          key={name}
          label={name}
          checked={chosen.includes(name)}
          onCheck={(checked) =>
            change({ credentials_names: checked ? [...chosen, name] : chosen.filter((one) => one !== name) })
          }
        />
      ))}
    </fieldset>
  );
}
