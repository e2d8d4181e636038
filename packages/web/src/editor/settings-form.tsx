/** The settings of the job that is being written. */
import { routes } from "@millrace/contract";
import { type ReactNode, useEffect, useRef } from "react";
import { useApi } from "../api/calls.ts";
import { PriorityField, SettingField } from "../jobs/setting-fields.tsx";
import { Check, Choice, TextArea, TextField } from "../look/field.tsx";
import { fieldOf } from "../look/field-errors.ts";
import { FormError } from "../look/form-error.ts";
import { WhenFields } from "../schedules/when-fields.tsx";
import { CredentialsField } from "./credentials-field.tsx";
import type { Draft, DraftForm } from "./draft.ts";
import { FilesField } from "./files-field.tsx";

/** Fields with the names that the API has for them: what the server says about one stands beside it. */
export const namedSettings: readonly string[] = [
  ...["requirements", "environment", "params", "python_version", "repository", "script", "workers", "tags"],
  ...["timeout", "retries", "retry_delay"],
];

/** `error` is the one of the last run: the field that it is about is shown. */
export function SettingsForm({ error, ...props }: DraftForm & { error: unknown }) {
  const form = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const field = form.current?.querySelector<HTMLElement>(`[name="${fieldOf(error)}"]`);
    field?.closest("details")?.setAttribute("open", "");
    field?.focus();
    field?.scrollIntoView({ block: "center" });
  }, [error]);
  return (
    <div ref={form}>
      <FormError.Provider value={error}>
        <Groups {...props} />
      </FormError.Provider>
    </div>
  );
}

const Groups = (props: DraftForm) => (
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
    <SettingField of="requirements" value={draft.requirements} onText={(requirements) => change({ requirements })} />
    <SettingField of="environment" value={draft.environment} onText={(environment) => change({ environment })} />
    <TextArea
      label="Parameters"
      name="params"
      hint="NAME=VALUE lines, or a JSON object"
      className="mono"
      spellCheck={false}
      value={draft.params}
      onText={(params) => change({ params })}
    />
    <SettingField of="python" value={draft.python} onText={(python) => change({ python })} />
  </>
);

const SourceFields = ({ draft, change }: DraftForm) => (
  <>
    <FilesField draft={draft} change={change} />
    <SettingField of="repository" value={draft.repository} onText={(repository) => change({ repository })} />
    <TextField
      label="Script in the repository"
      name="script"
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
      <SettingField of="workers" value={draft.workers} onText={(workers) => change({ workers })} />
      <PriorityField value={draft.priority} onText={(priority) => change({ priority })} />
      <CredentialsField draft={draft} change={change} />
      <TextField
        label="Tags"
        name="tags"
        placeholder="nightly, gpu"
        value={draft.tags}
        onText={(tags) => change({ tags })}
      />
    </>
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
  <div className="whole-row">
    <WhenFields
      values={{ cron_expression: draft.cron, timezone: draft.timezone }}
      onChange={({ cron_expression: cron = draft.cron, timezone = draft.timezone }) => change({ cron, timezone })}
      error={undefined}
    />
  </div>
);

const FailureFields = ({ draft, change }: DraftForm) => (
  <>
    <SettingField of="timeout" value={draft.timeout} onText={(timeout) => change({ timeout })} />
    <SettingField of="retries" value={draft.retries} onText={(retries) => change({ retries })} />
    <SettingField of="retryDelay" value={draft.retryDelay} onText={(retryDelay) => change({ retryDelay })} />
    {draft.from !== "" && (
      <Check
        label="Start from scratch, ignoring checkpoints"
        checked={draft.reset}
        onCheck={(reset) => change({ reset })}
      />
    )}
  </>
);
