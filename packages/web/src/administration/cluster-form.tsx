/** Adds a cluster, or changes the slots, teams, options and secrets of one. */
import {
  defaultOptions,
  type EngineKindName,
  engineKindNames,
  engineKinds,
  type ManagedCluster,
  managedClusterLimits,
  routes,
} from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { Dialog } from "../look/dialog.tsx";
import { Check, Choice, TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";
import { changedOptions, isKind, OptionFields, type TypedOptions, typedOptions } from "./cluster-options.tsx";
import { SecretFields } from "./cluster-secrets.tsx";

interface Fields {
  readonly max_workers: string;
  readonly teams: string;
  readonly default_of: string;
  readonly default: boolean;
  readonly shares_unisolated: boolean;
}

const words = (text: string) => text.split(/[\s,]+/).filter((word) => word !== "");

const fieldsOf = (cluster: ManagedCluster | undefined): Fields => ({
  max_workers: cluster ? String(cluster.max_workers) : "",
  teams: cluster?.teams?.join(" ") ?? "",
  default_of: cluster?.default_of.join(" ") ?? "",
  default: cluster?.default ?? false,
  shares_unisolated: cluster?.shares_unisolated ?? false,
});

export function ClusterForm({ cluster, onClose }: { cluster?: ManagedCluster; onClose: () => void }) {
  const [engine, setEngine] = useState<string>(cluster?.engine ?? engineKindNames[0] ?? "");
  const kind = isKind(engine) ? engine : undefined;
  return (
    <Dialog title={cluster ? `Change ${cluster.name}` : "Add a cluster"} onClose={onClose}>
      {/* Another engine has other options and secrets, so that what was typed for them is gone. */}
      <Settings key={engine} kind={kind} cluster={cluster} onEngine={setEngine} onClose={onClose} />
    </Dialog>
  );
}

interface SettingsProps {
  /** Undefined for the machine of the server, which has no options. */
  readonly kind: EngineKindName | undefined;
  readonly cluster: ManagedCluster | undefined;
  readonly onEngine: (engine: string) => void;
  readonly onClose: () => void;
}

function Settings({ kind, cluster, onEngine, onClose }: SettingsProps) {
  const [name, setName] = useState(cluster?.name ?? "");
  const [fields, setFields] = useState(() => fieldsOf(cluster));
  const before = cluster?.options ?? (kind ? defaultOptions(kind) : {});
  const [typed, setTyped] = useState<TypedOptions>(() => (kind ? typedOptions(kind, before) : {}));
  const [secrets, setSecrets] = useState<Readonly<Record<string, string>>>({});
  const { changed, unreadable } = kind ? changedOptions(kind, typed, before) : { changed: {}, unreadable: [] };
  const [isRefused, setRefused] = useState(false);
  const create = useAction(routes.createCluster);
  const save = useAction(routes.updateCluster);
  const action = cluster ? save : create;
  const body = {
    ...settingsOf(fields),
    ...(Object.keys(secrets).length > 0 ? { secrets } : {}),
    ...(kind && Object.keys(changed).length > 0 ? { [kind]: changed } : {}),
  };
  const submit = () => {
    setRefused(unreadable.length > 0);
    if (unreadable.length > 0) return;
    const max_workers = Number(fields.max_workers);
    const done = { onSuccess: onClose };
    if (kind === undefined) save.mutate({ params: { cluster_name: name }, body }, done);
    else if (cluster) save.mutate({ params: { cluster_name: name }, body: { ...body, max_workers } }, done);
    else create.mutate({ body: { name: name.trim(), engine: kind, ...body, max_workers } }, done);
  };
  return (
    <Form
      action={cluster ? "Save" : "Add the cluster"}
      onSubmit={submit}
      busy={action.isPending}
      error={isRefused && unreadable.length > 0 ? new Error(`Not JSON: ${unreadable.join(", ")}`) : action.error}
      onCancel={onClose}
    >
      {!cluster && kind && <NewFields kind={kind} name={name} onName={setName} onEngine={onEngine} />}
      <SharedFields fields={fields} hasSlots={kind !== undefined} onChange={setFields} />
      {kind && (
        <>
          <SecretFields
            schema={engineKinds[kind].secrets}
            known={cluster?.secrets ?? []}
            given={secrets}
            onChange={setSecrets}
          />
          <h3>Options</h3>
          <OptionFields engine={kind} typed={typed} unreadable={unreadable} onChange={setTyped} />
        </>
      )}
    </Form>
  );
}

/** The settings of all kinds as the API takes them. A cluster stops being the default only when another becomes it. */
const settingsOf = (fields: Fields) => ({
  teams: words(fields.teams),
  default_of: words(fields.default_of),
  ...(fields.default ? { default: true } : {}),
  shares_unisolated: fields.shares_unisolated,
});

interface NewProps {
  readonly kind: EngineKindName;
  readonly name: string;
  readonly onName: (name: string) => void;
  readonly onEngine: (engine: string) => void;
}

const NewFields = ({ kind, name, onName, onEngine }: NewProps) => (
  <>
    <Choice label="Engine" name="engine" value={kind} onText={onEngine}>
      {engineKindNames.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </Choice>
    <TextField
      label="Name"
      name="name"
      value={name}
      onText={onName}
      required
      maxLength={39}
      autoCapitalize="none"
      hint="Lower-case letters, digits, hyphens and underscores. Jobs name their cluster by it."
    />
  </>
);

interface SharedProps {
  readonly fields: Fields;
  readonly hasSlots: boolean;
  readonly onChange: (fields: Fields) => void;
}

function SharedFields({ fields, hasSlots, onChange }: SharedProps) {
  const set = (changed: Partial<Fields>) => onChange({ ...fields, ...changed });
  return (
    <>
      {hasSlots && (
        <TextField
          label="Slots"
          name="max_workers"
          type="number"
          min={1}
          max={managedClusterLimits.maxWorkers}
          required
          value={fields.max_workers}
          onText={(max_workers) => set({ max_workers })}
          hint="How many workers of jobs Millrace gives to the cluster at a time. The others wait here."
        />
      )}
      <TextField
        label="Teams"
        name="teams"
        value={fields.teams}
        onText={(teams) => set({ teams })}
        hint="Teams that may use the cluster, separated by spaces. Empty: all teams."
      />
      <TextField
        label="Default of"
        name="default_of"
        value={fields.default_of}
        onText={(default_of) => set({ default_of })}
        hint="Teams whose jobs run here if they name no cluster."
      />
      <Check
        label="Default of all other teams"
        checked={fields.default}
        onCheck={(isDefault) => set({ default: isDefault })}
      />
      <Check
        label="Several teams may use the cluster although its jobs are not isolated: a job could read the files and secrets of another team's job"
        checked={fields.shares_unisolated}
        onCheck={(shares_unisolated) => set({ shares_unisolated })}
      />
    </>
  );
}
