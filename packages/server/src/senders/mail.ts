/** Sends an e-mail through the operator's mail server. */
import type { AttemptResult } from "../domain/events/delivery-attempts.ts";

interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly deliveryId: string;
}

export interface MailRules {
  /** URL of the mail server; empty if none is configured. */
  readonly smtpUrl: string;
  readonly from: string;
  /** Seconds within which the mail server must accept an e-mail. */
  readonly seconds: number;
}

export type SendMail = (mail: Mail, stop: AbortSignal) => Promise<AttemptResult>;

/** Returns the function that sends e-mails. This function never throws; its result says why an e-mail was not sent. */
export function mailSender({ smtpUrl, from, seconds }: MailRules): SendMail {
  return async (mail, stop) => {
    if (smtpUrl === "")
      return notSent("This server has no mail server configured. Its operator can set MILLRACE_SMTP_URL.");
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

/**
 * Builds the e-mail. The message id is the same in every attempt, so that mail programs show a repeated e-mail once.
 */
const messageOf = ({ to, subject, text, deliveryId }: Mail, from: string) => ({
  from,
  to,
  subject: `[Millrace] ${subject.replace(/\s+/g, " ").slice(0, 200)}`,
  text,
  messageId: `<${deliveryId}@millrace>`,
  headers: { "x-millrace-delivery": deliveryId, "auto-submitted": "auto-generated" },
});

/** Returns a promise that rejects when the signal aborts. `seconds` is only for the error message. */
const aborted = (signal: AbortSignal, seconds: number) =>
  new Promise<never>((_, reject) => {
    const stop = () => reject(new Error(`there was no answer within ${seconds} seconds`));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });

/** Returns the result for an e-mail that was not sent for a reason that is not the receiver's fault. */
const notSent = (error: string): AttemptResult => ({ ok: false, status: null, error, isReceivers: false });

/**
 * Returns the result of a failed attempt. The failure counts against the receiver only if the mail server rejects the
 * receiver's address permanently.
 */
function failure(error: unknown): AttemptResult {
  const { code, responseCode, message } = error as { code?: string; responseCode?: number; message: string };
  const isReceivers = code === "EENVELOPE" && (responseCode ?? 0) >= 500;
  const what = `The e-mail could not be sent to the mail server: ${message.replace(/\s+/g, " ").slice(0, 200)}`;
  return { ok: false, status: responseCode ?? null, error: what, isReceivers };
}
