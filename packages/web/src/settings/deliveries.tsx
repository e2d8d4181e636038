/** What was sent to webhooks and e-mail addresses, newest first, with the answer, and sending again. */
import { type Delivery, type DeliveryStatus, deliveryStatuses, routes } from "@millrace/contract";
import { useAction, useApi, useApiPages } from "../api/calls.ts";
import { useUrlState } from "../api/url-state.ts";
import { Button } from "../look/button.tsx";
import { Choice } from "../look/field.tsx";
import { Empty, Problem, Read } from "../look/states.tsx";
import { Status } from "../look/status.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";
import { EventName } from "./event-choice.tsx";

const shown: Readonly<Record<DeliveryStatus, readonly [string, string]>> = {
  pending: ["QUEUED", "Waiting"],
  delivered: ["COMPLETE", "Delivered"],
  failed: ["FAILED", "Failed"],
};

export function Deliveries() {
  const [status, setStatus] = useUrlState("delivery");
  const chosen = deliveryStatuses.find((one) => one === status);
  const query = { limit: 20, ...(chosen ? { delivery_status: chosen } : {}) };
  const deliveries = useApiPages(routes.listDeliveries, { query }, (list) => list);
  const again = useAction(routes.redeliver);
  const { data: webhooks = [] } = useApi(routes.listWebhooks, { query: {} });
  const urls: Urls = new Map(webhooks.map(({ id, url }) => [id, url]));
  return (
    <>
      <div className="row">
        <Choice label="Show" value={chosen ?? ""} onText={setStatus}>
          <option value="">All</option>
          {deliveryStatuses.map((one) => (
            <option key={one} value={one}>
              {shown[one][1]}
            </option>
          ))}
        </Choice>
      </div>
      <Problem error={again.error} />
      <Read from={deliveries}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items);
          if (items.length === 0) return <Empty title="No deliveries">Test a webhook to see one.</Empty>;
          const resend = (delivery_id: string) => again.mutate({ body: { delivery_id } });
          return <Table label="Deliveries" columns={columns(urls, resend)} items={items} keyOf={({ id }) => id} />;
        }}
      </Read>
      {deliveries.hasNextPage && (
        <Button busy={deliveries.isFetchingNextPage} onClick={() => void deliveries.fetchNextPage()}>
          Show older deliveries
        </Button>
      )}
    </>
  );
}

type Urls = ReadonlyMap<number | null, string>;

const columns = (urls: Urls, resend: (id: string) => void): readonly Column<Delivery>[] => [
  { title: "State", cell: ({ status }) => <Status status={shown[status][0]} word={shown[status][1]} /> },
  { title: "Event", cell: ({ event }) => <EventName event={event} /> },
  {
    title: "To",
    wide: true,
    optional: true,
    cell: ({ address, webhook_id }) => {
      const to = address ?? urls.get(webhook_id) ?? "–";
      return <span title={to}>{to}</span>;
    },
  },
  {
    title: "Answer",
    optional: true,
    cell: ({ response_status, error }) => (
      <span className="answer cut" title={error ?? ""}>
        {[response_status, error].filter((part) => part !== null && part !== "").join(" · ") || "–"}
      </span>
    ),
  },
  { title: "Attempts", number: true, optional: true, cell: ({ attempts }) => attempts },
  { title: "Created", cell: ({ created_at }) => <Time at={created_at} /> },
  {
    title: "Actions",
    cell: ({ id, event }) => (
      <Button aria-label={`Resend: ${event}`} onClick={() => resend(id)}>
        Resend
      </Button>
    ),
  },
];
