/** The settings of a pipeline as a form. What was typed stays if the server refuses it. */
import { type Pipeline, routes } from "@millrace/contract";
import { type FormEvent, useState } from "react";
import { useApi } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { PriorityField, SettingField } from "../jobs/setting-fields.tsx";
import { Button } from "../look/button.tsx";
import { Check } from "../look/field.tsx";
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
        {saving.isDone && !isChanged && (
          <span role="status" className="good">
            Saved
          </span>
        )}
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
    <SettingField of="python" value={settings.python_version} onText={(python_version) => change({ python_version })} />
    <SettingField of="repository" value={settings.repository} onText={(repository) => change({ repository })} />
    <SettingField of="requirements" value={settings.requirements} onText={(requirements) => change({ requirements })} />
    <SettingField
      of="environment"
      hint="NAME=VALUE lines, added to the variables of each job"
      value={settings.environment}
      onText={(environment) => change({ environment })}
    />
  </fieldset>
);

/** What an empty field does. */
const empty = "unchanged";

const Resources = ({ settings, change }: PartProps) => (
  <fieldset className="card">
    <legend>Resources and retries</legend>
    <PriorityField value={settings.priority} onText={(priority) => change({ priority })} empty={empty} />
    <SettingField of="workers" placeholder={empty} value={settings.workers} onText={(workers) => change({ workers })} />
    <SettingField
      of="timeout"
      hint="0: no limit"
      placeholder={empty}
      value={settings.timeout}
      onText={(timeout) => change({ timeout })}
    />
    <SettingField of="retries" placeholder={empty} value={settings.retries} onText={(retries) => change({ retries })} />
    <SettingField
      of="retryDelay"
      placeholder={empty}
      value={settings.retry_delay}
      onText={(retry_delay) => change({ retry_delay })}
    />
    <Check
      label="Reuse listings of storages that are at most four hours old"
      checked={settings.reuse_listings}
      onCheck={(reuse_listings) => change({ reuse_listings })}
    />
  </fieldset>
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
