/** Builds the loops that deliver events to webhooks and e-mail addresses. */
import type { MailSettings } from "../configuration/groups/mail.ts";
import type { WebhookSettings } from "../configuration/groups/webhooks.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { deliverEvents } from "../loops/deliver-events.ts";
import type { Loop } from "../loops/loop.ts";
import { tellOverdue } from "../loops/tell-overdue.ts";
import { mailSender } from "../senders/mail.ts";
import { webhookSender } from "../senders/webhook.ts";
import { version } from "../version.ts";

interface EventLoops {
  readonly execution: Pick<ExecutionContext, "store" | "keys" | "signals" | "clock" | "log" | "faults" | "metrics">;
  readonly webhooks: WebhookSettings;
  readonly mail: MailSettings;
  readonly publicUrl: () => string;
  readonly stopping: AbortSignal;
}

export function eventLoops({ execution, webhooks, mail, publicUrl, stopping }: EventLoops): Loop[] {
  const { store, keys, signals, clock, log, faults, metrics } = execution;
  const deliveries = deliverEvents({
    ...{ store, keys, signals, clock, log, faults, metrics },
    publicUrl,
    stopping,
    sendWebhook: webhookSender({ ...webhooks, version }),
    sendMail: mailSender(mail),
    webhookSeconds: webhooks.seconds,
    webhookRetry: webhooks.retry,
    smtpSeconds: mail.seconds,
  });
  return [deliveries, tellOverdue({ store, clock })];
}
