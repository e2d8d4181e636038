/** Creates or changes a webhook. */
import {
  type RouteInput,
  routes,
  type ToldEvent,
  toldEvents,
  type Webhook,
  webhookFormats,
  webhookMethods,
} from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { Dialog } from "../look/dialog.tsx";
import { Check, Choice, TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";
import { EventChoice, jobSteps } from "./event-choice.tsx";

export const formatTitles: Readonly<Record<Webhook["format"], string>> = { json: "JSON", form: "Form", slack: "Slack" };

interface WebhookFormProps {
  /** Undefined for a new webhook. */
  readonly webhook: Webhook | undefined;
  readonly onCreated: (secret: string) => void;
  readonly onClose: () => void;
}

type Fields = Omit<RouteInput<typeof routes.createWebhook>["body"], "team_name" | "secret">;

const fresh: Fields = {
  url: "",
  format: "json",
  method: "POST",
  verify_tls: true,
  events: [...toldEvents],
  job_statuses: [],
};

export function WebhookForm({ webhook, onCreated, onClose }: WebhookFormProps) {
  const create = useAction(routes.createWebhook);
  const change = useAction(routes.updateWebhook);
  const [fields, setFields] = useState<Fields>(() => {
    if (!webhook) return fresh;
    const { url, format, method, verify_tls, events, job_statuses } = webhook;
    return { url, format, method, verify_tls, events, job_statuses };
  });
  const set = (changed: Partial<Fields>) => setFields((before) => ({ ...before, ...changed }));
  const submit = () => {
    if (webhook) change.mutate({ body: { webhook_id: webhook.id, ...fields } }, { onSuccess: onClose });
    else
      create.mutate(
        { body: fields },
        {
          onSuccess: ({ secret }) => {
            onCreated(secret);
            onClose();
          },
        },
      );
  };
  return (
    <Dialog title={webhook ? "Edit the webhook" : "New webhook"} onClose={onClose}>
      <Form
        action={webhook ? "Save" : "Create and test"}
        onSubmit={submit}
        busy={create.isPending || change.isPending}
        error={create.error ?? change.error}
        onCancel={onClose}
      >
        <TextField
          label="URL"
          name="url"
          type="url"
          required
          maxLength={2048}
          value={fields.url}
          onText={(url) => set({ url })}
          placeholder="https://example.com/hooks/millrace"
        />
        <Sending fields={fields} set={set} />
        <EventChoice value={fields.events ?? []} onChange={(events: ToldEvent[]) => set({ events })} />
        <Statuses value={fields.job_statuses ?? []} onChange={(job_statuses) => set({ job_statuses })} />
      </Form>
    </Dialog>
  );
}

function Sending({ fields, set }: { fields: Fields; set: (changed: Partial<Fields>) => void }) {
  return (
    <>
      <div className="settings-columns">
        <Choice
          label="Format"
          value={fields.format ?? "json"}
          onText={(format) => set({ format: format as Webhook["format"] })}
        >
          {webhookFormats.map((format) => (
            <option key={format} value={format}>
              {formatTitles[format]}
            </option>
          ))}
        </Choice>
        <Choice
          label="Method"
          value={fields.method ?? "POST"}
          onText={(method) => set({ method: method as Webhook["method"] })}
        >
          {webhookMethods.map((method) => (
            <option key={method}>{method}</option>
          ))}
        </Choice>
      </div>
      <Check
        label="Check the certificate of the receiver"
        checked={fields.verify_tls ?? true}
        onCheck={(verify_tls) => set({ verify_tls })}
      />
    </>
  );
}

type JobStatuses = NonNullable<Fields["job_statuses"]>;

const Statuses = ({ value, onChange }: { value: JobStatuses; onChange: (value: JobStatuses) => void }) => (
  <fieldset className="plain">
    <legend>Also each time that a job</legend>
    <div className="checks">
      {(Object.keys(jobSteps) as JobStatuses).map((status) => (
        <Check
          key={status}
          label={<span title={status}>{jobSteps[status]}</span>}
          checked={value.includes(status)}
          onCheck={(checked) => onChange(checked ? [...value, status] : value.filter((one) => one !== status))}
        />
      ))}
    </div>
  </fieldset>
);
