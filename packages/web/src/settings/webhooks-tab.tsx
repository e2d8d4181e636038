/** Webhooks of the team and their deliveries. */
import { routes, type Webhook } from "@millrace/contract";
import { useState } from "react";
import { useAction, useApi } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { Button } from "../look/button.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { ShownOnce } from "../look/shown-once.tsx";
import { Empty, Problem, Read } from "../look/states.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Deliveries } from "./deliveries.tsx";
import { NotAllowed } from "./not-allowed.tsx";
import { ReceiverState } from "./receiver-state.tsx";
import { formatTitles, WebhookForm } from "./webhook-form.tsx";

export function WebhooksTab() {
  const refusal = useRefusal("admin");
  if (refusal !== undefined) return <NotAllowed what="the webhooks of the team" why={refusal} />;
  return <Webhooks />;
}

function Webhooks() {
  const webhooks = useApi(routes.listWebhooks, { query: {} });
  const [editing, setEditing] = useState<Webhook | "new">();
  const [secret, setSecret] = useState<string>();
  return (
    <>
      <div className="row">
        <Button kind="main" icon="plus" onClick={() => setEditing("new")}>
          New webhook
        </Button>
      </div>
      {secret !== undefined && <ShownOnce what="Created the webhook. This secret signs its requests." text={secret} />}
      <Read from={webhooks}>
        {(list) =>
          list.length > 0 ? (
            <WebhookTable webhooks={list} edit={setEditing} />
          ) : (
            <Empty title="No webhooks yet">
              <p>A webhook sends a signed request to a URL when a job, pipeline or schedule fails or recovers.</p>
            </Empty>
          )
        }
      </Read>
      {editing && (
        <WebhookForm
          webhook={editing === "new" ? undefined : editing}
          onCreated={setSecret}
          onClose={() => setEditing(undefined)}
        />
      )}
      <h2>Deliveries</h2>
      <Deliveries />
    </>
  );
}

function WebhookTable({ webhooks, edit }: { webhooks: readonly Webhook[]; edit: (webhook: Webhook) => void }) {
  const test = useAction(routes.testWebhook);
  const change = useAction(routes.updateWebhook);
  const remove = useAction(routes.deleteWebhook);
  const [deleting, setDeleting] = useState<Webhook>();
  const actions = {
    edit,
    remove: setDeleting,
    test: (webhook_id: number) => test.mutate({ body: { webhook_id } }),
    enable: (webhook_id: number, enabled: boolean) => change.mutate({ body: { webhook_id, enabled } }),
  };
  return (
    <>
      <Problem error={test.error ?? change.error} />
      <Table label="Webhooks" columns={columns(actions)} items={webhooks} keyOf={({ id }) => id} />
      {deleting && (
        <AskFirst
          title="Delete the webhook?"
          action="Delete"
          busy={remove.isPending}
          error={remove.error}
          onClose={() => setDeleting(undefined)}
          onConfirm={() =>
            remove.mutate({ body: { webhook_id: deleting.id } }, { onSuccess: () => setDeleting(undefined) })
          }
        >
          <p>Nothing more is sent to {deleting.url}. Its deliveries are deleted, those that wait are not sent.</p>
        </AskFirst>
      )}
    </>
  );
}

interface Actions {
  readonly edit: (webhook: Webhook) => void;
  readonly remove: (webhook: Webhook) => void;
  readonly test: (id: number) => void;
  readonly enable: (id: number, enabled: boolean) => void;
}

const columns = ({ edit, remove, test, enable }: Actions): readonly Column<Webhook>[] => [
  { title: "State", cell: (webhook) => <ReceiverState state={webhook} /> },
  { title: "URL", wide: true, cell: ({ url }) => <span className="wrapped">{url}</span> },
  { title: "Format", optional: true, cell: ({ format }) => formatTitles[format] },
  {
    title: "Events",
    optional: true,
    cell: ({ events, job_statuses }) => [...events, ...job_statuses.map((status) => `job ${status}`)].length,
    number: true,
  },
  {
    title: "Actions",
    cell: (webhook) => (
      <span className="row table-actions">
        <Button onClick={() => test(webhook.id)}>Test</Button>
        <Button onClick={() => edit(webhook)}>Edit</Button>
        <Button onClick={() => enable(webhook.id, !webhook.enabled)}>{webhook.enabled ? "Disable" : "Enable"}</Button>
        <Button kind="bare" icon="bin" aria-label={`Delete ${webhook.url}`} onClick={() => remove(webhook)} />
      </span>
    ),
  },
];
