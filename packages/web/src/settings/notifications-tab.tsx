/** E-mail addresses that get the team's events. */
import { type Notification, routes, type ToldEvent, toldEvents } from "@millrace/contract";
import { useState } from "react";
import { useAction, useApi } from "../api/calls.ts";
import { useRefusal, useSession } from "../api/session.tsx";
import { Button } from "../look/button.tsx";
import { TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";
import { Empty, Problem, Read } from "../look/states.tsx";
import { type Column, Table } from "../look/table.tsx";
import { EventChoice, eventsText } from "./event-choice.tsx";
import { NotAllowed } from "./not-allowed.tsx";
import { ReceiverState } from "./receiver-state.tsx";

export function NotificationsTab() {
  const refusal = useRefusal("admin");
  if (refusal !== undefined) return <NotAllowed what="the notifications of the team" why={refusal} />;
  return <Notifications />;
}

function Notifications() {
  const noMail = useNoMail();
  return (
    <>
      {noMail !== undefined && <Problem error={noMail} />}
      <Addresses noMail={noMail} />
      <section className="card stack">
        <h2>Add or change an address</h2>
        <AddressForm noMail={noMail} />
      </section>
    </>
  );
}

/** Why the server sends no e-mail. Only administrators of the server may ask; others are told when they save. */
function useNoMail(): string | undefined {
  const { is_admin } = useSession();
  const { data } = useApi(routes.getSystem, {}, { enabled: is_admin });
  return data?.sends_mail === false
    ? "This server sends no e-mail: its operator has not set MILLRACE_SMTP_URL. Use a webhook until it is set."
    : undefined;
}

function Addresses({ noMail }: { noMail: string | undefined }) {
  const addresses = useApi(routes.listNotifications, { query: {} });
  const test = useAction(routes.testNotification);
  const change = useAction(routes.setNotification);
  const remove = useAction(routes.deleteNotification);
  const columns: readonly Column<Notification>[] = [
    { title: "State", cell: (one) => <ReceiverState state={one} /> },
    { title: "Address", wide: true, cell: ({ address }) => address },
    {
      title: "Events",
      optional: true,
      cell: ({ events }) => (events.length === toldEvents.length ? "all" : eventsText(events)),
    },
    {
      title: "Actions",
      cell: ({ address, enabled }) => (
        <span className="row table-actions">
          <Button onClick={() => test.mutate({ body: { address } })}>Test</Button>
          <Button onClick={() => change.mutate({ body: { address, enabled: !enabled } })}>
            {enabled ? "Disable" : "Enable"}
          </Button>
          <Button
            kind="bare"
            icon="bin"
            aria-label={`Remove ${address}`}
            onClick={() => remove.mutate({ body: { address } })}
          />
        </span>
      ),
    },
  ];
  return (
    <>
      <Problem error={test.error ?? change.error ?? remove.error} />
      <Read from={addresses}>
        {(list) =>
          list.length > 0 ? (
            <Table label="Addresses" columns={columns} items={list} keyOf={({ address }) => address} />
          ) : (
            <Empty title="Nobody gets e-mails">
              {noMail === undefined && (
                <p>
                  If the server's operator has set up e-mail, an address that you add below gets one when a job,
                  pipeline or schedule fails or recovers.
                </p>
              )}
            </Empty>
          )
        }
      </Read>
    </>
  );
}

function AddressForm({ noMail }: { noMail: string | undefined }) {
  const save = useAction(routes.setNotification);
  const [address, setAddress] = useState("");
  const [events, setEvents] = useState<ToldEvent[]>([...toldEvents]);
  return (
    <Form
      action="Save"
      onSubmit={() => save.mutate({ body: { address: address.trim(), events } }, { onSuccess: () => setAddress("") })}
      busy={save.isPending}
      error={save.error}
      done={save.isSuccess && `Saved ${save.data.address}`}
      refusal={
        (noMail && "This server sends no e-mail.") ?? (events.length === 0 ? "Choose at least one event." : undefined)
      }
    >
      <TextField
        label="E-mail address"
        name="address"
        type="email"
        required
        maxLength={254}
        value={address}
        onText={setAddress}
      />
      <EventChoice value={events} onChange={setEvents} />
    </Form>
  );
}
