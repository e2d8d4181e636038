/** Creates a team, and sets the quotas of one. */
import { routes, type Team } from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { Dialog } from "../look/dialog.tsx";
import { TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";

export function NewTeam({ onClose }: { onClose: () => void }) {
  const create = useAction(routes.createTeam);
  const [name, setName] = useState("");
  const [admin, setAdmin] = useState("");
  const body = { name: name.trim(), admin: admin.trim() || null };
  return (
    <Dialog title="New team" onClose={onClose}>
      <Form
        action="Create the team"
        onSubmit={() => create.mutate({ body }, { onSuccess: onClose })}
        busy={create.isPending}
        error={create.error}
        onCancel={onClose}
      >
        <TextField
          label="Name"
          name="name"
          value={name}
          onText={setName}
          required
          maxLength={39}
          hint="Lower-case letters, digits, hyphens and underscores."
        />
        <TextField
          label="First admin"
          name="admin"
          value={admin}
          onText={setAdmin}
          maxLength={39}
          hint="A username. Empty: you."
        />
      </Form>
    </Dialog>
  );
}

const counts = {
  max_running: "Running jobs",
  max_queued: "Waiting jobs",
  max_tasks: "Waiting tasks",
  max_schedules: "Schedules",
} as const;

const sizes = {
  max_dataset_bytes: "Datasets",
  max_upload_bytes: "Uploaded files",
  max_log_bytes: "Logs of ended jobs",
  max_text_bytes: "Scripts and settings of jobs",
  max_export_bytes: "Exports",
  max_environment_bytes: "Virtualenvs",
} as const;

type Quota = keyof typeof counts | keyof typeof sizes;
const gibibyte = 1024 ** 3;
const quotas = [...Object.keys(counts), ...Object.keys(sizes)] as Quota[];
const isSize = (quota: Quota): quota is keyof typeof sizes => quota in sizes;

/** A quota as it is typed: sizes in GiB, empty for the server's default. */
const typedOf = (team: Team, quota: Quota) => {
  const value = team[quota];
  if (value === null) return "";
  return String(isSize(quota) ? value / gibibyte : value);
};

/** A typed quota as the API takes it: 0 means the server's default. */
const sentOf = (quota: Quota, typed: string) => Math.round(Number(typed) * (isSize(quota) ? gibibyte : 1));

export function QuotaForm({ team, onClose }: { team: Team; onClose: () => void }) {
  const save = useAction(routes.updateTeam);
  const [typed, setTyped] = useState<Record<string, string>>(() =>
    Object.fromEntries(quotas.map((quota) => [quota, typedOf(team, quota)])),
  );
  const body = Object.fromEntries(quotas.map((quota) => [quota, sentOf(quota, typed[quota] ?? "")]));
  return (
    <Dialog title={`Quotas of ${team.name}`} onClose={onClose}>
      <Form
        action="Save"
        onSubmit={() => save.mutate({ params: { team_name: team.name }, body }, { onSuccess: onClose })}
        busy={save.isPending}
        error={save.error}
        onCancel={onClose}
      >
        <p className="soft">Empty: the server's default.</p>
        <div className="settings-columns">
          {quotas.map((quota) => (
            <TextField
              key={quota}
              name={quota}
              label={isSize(quota) ? `${sizes[quota]} in GiB` : counts[quota]}
              type="number"
              min={0}
              step={isSize(quota) ? "any" : 1}
              value={typed[quota]}
              onText={(text) => setTyped({ ...typed, [quota]: text })}
            />
          ))}
        </div>
      </Form>
    </Dialog>
  );
}
