/** One e-mail, over the mail server of the operator. */
import type { AttemptResult } from "../domain/events/delivery-attempts.ts";

interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly deliveryId: string;
}

export interface MailRules {
  /** Empty: there is none. */
  readonly smtpUrl: string;
  readonly from: string;
  /** In which one must be taken by the mail server. */
  readonly seconds: number;
}

export type SendMail = (mail: Mail, stop: AbortSignal) => Promise<AttemptResult>;

export function mailSender({ smtpUrl, from, seconds }: MailRules): SendMail {
  return async (mail, stop) => {
    if (smtpUrl === "") return notSent("E-mail is not set up on this server (MILLRACE_SMTP_URL).");
    const { createTransport } = await import("nodemailer");
    const timeout = seconds * 1000;
    const limits = { connectionTimeout: timeout, greetingTimeout: timeout, socketTimeout: timeout };
    const transport = createTransport({ url: smtpUrl, ...limits, disableFileAccess: true, disableUrlAccess: true });
    const signal = AbortSignal.any([stop, AbortSignal.timeout(timeout)]);
    try {
      await Promise.race([transport.sendMail(messageOf(mail, from)), aborted(signal, seconds)]);
      return { ok: true, status: null, error: null };
    } catch (error) {
      return failure(error);
    } finally {
      transport.close();
    }
  };
}

/** The same id in every attempt: mail programs show the message once. */
const messageOf = ({ to, subject, text, deliveryId }: Mail, from: string) => ({
  from,
  to,
  subject: `[Millrace] ${subject.replace(/\s+/g, " ").slice(0, 200)}`,
  text,
  messageId: `<${deliveryId}@millrace>`,
  headers: { "x-millrace-delivery": deliveryId, "auto-submitted": "auto-generated" },
});

const aborted = (signal: AbortSignal, seconds: number) =>
  new Promise<never>((_, reject) => {
    const stop = () => reject(new Error(`the mail server did not take it within ${seconds} seconds`));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });

const notSent = (error: string): AttemptResult => ({ ok: false, status: null, error, isReceivers: false });

/** Only an address that the mail server refuses for good is the receiver's fault. */
function failure(error: unknown): AttemptResult {
  const { code, responseCode, message } = error as { code?: string; responseCode?: number; message: string };
  const isReceivers = code === "EENVELOPE" && (responseCode ?? 0) >= 500;
  const what = `The mail server did not take the e-mail: ${message.replace(/\s+/g, " ").slice(0, 200)}`;
  return { ok: false, status: responseCode ?? null, error: what, isReceivers };
}
