/** Settings: how webhooks are delivered. E-mails use the same back-off. */
import { integer, networks } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const webhooks = group("Webhooks", {
  networks: setting({
    env: "MILLRACE_WEBHOOK_NETWORKS",
    fallback: "",
    description:
      "private addresses and networks that webhooks may reach, such as 10.1.0.0/16,fd00::/8; empty allows public addresses only",
    parse: networks,
  }),
  seconds: setting({
    env: "MILLRACE_WEBHOOK_SECONDS",
    fallback: "10",
    description: "seconds within which the receiver of a webhook must answer",
    parse: integer(1, 300),
  }),
  retry: setting({
    env: "MILLRACE_WEBHOOK_RETRY",
    fallback: "10",
    description:
      "seconds until a failed delivery of a webhook or an e-mail is retried; the wait triples after each further failure, up to 8 hours",
    parse: integer(1, 3600),
  }),
});

export type WebhookSettings = Values<typeof webhooks>;
