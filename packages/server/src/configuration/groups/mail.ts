/** Settings: the mail server that sends notifications. */
import { integer, mailAddress, smtpUrl } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const mail = group("E-mail", {
  smtpUrl: setting({
    env: "MILLRACE_SMTP_URL",
    fallback: "",
    description:
      "mail server that sends notifications: smtp://USER:PASSWORD@HOST:587, or smtps://…:465; empty sends no e-mail",
    see: "notifications.md#e-mail",
    secret: true,
    parse: smtpUrl,
  }),
  from: setting({
    env: "MILLRACE_SMTP_FROM",
    fallback: "millrace@localhost",
    description: "sender address of e-mails",
    parse: mailAddress,
  }),
  seconds: setting({
    env: "MILLRACE_SMTP_SECONDS",
    fallback: "60",
    description: "seconds within which the mail server must accept an e-mail",
    parse: integer(1, 300),
  }),
});

export type MailSettings = Values<typeof mail>;
