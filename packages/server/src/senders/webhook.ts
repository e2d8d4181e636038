/**
 * Sends one webhook request. Resolves the host name, checks the addresses, and connects only to the checked addresses,
 * so that DNS rebinding has no effect. Follows no redirects and uses no proxy. Limits the time and the size of the
 * answer.
 */
import { createHmac } from "node:crypto";
import { Resolver } from "node:dns/promises";
import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, isIP, type LookupFunction } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { AttemptResult } from "../domain/events/delivery-attempts.ts";
import { CountedConnection } from "./counted-connection.ts";
import { addressCheck } from "./public-addresses.ts";

interface WebhookRequest {
  readonly url: string;
  readonly secret: string;
  readonly method: string;
  readonly isForm: boolean;
  readonly verifyTls: boolean;
  /** Value of the header that says which kind of event it is. */
  readonly kind: string;
  readonly deliveryId: string;
  readonly body: string;
}

export interface WebhookRules {
  /** Private addresses and networks that webhooks may reach. */
  readonly networks: readonly string[];
  /** Seconds within which a receiver must answer. */
  readonly seconds: number;
  /** Version of Millrace, for the User-Agent header. */
  readonly version: string;
  /**
   * Resolves a host name. The default asks DNS servers directly, because slow lookups through the system would block
   * Node's thread pool.
   */
  readonly resolve?: (name: string, stop: AbortSignal) => Promise<string[]>;
}

export type SendWebhook = (request: WebhookRequest, stop: AbortSignal) => Promise<AttemptResult>;

/** Maximum size of a receiver's answer in bytes, including headers. */
const answerBytes = 64 * 1024;
/** Maximum number of characters of the receiver's answer that are stored in the error of the delivery. */
const shownCharacters = 200;
/** Maximum number of bytes that a receiver may send beside its answer to establish TLS, such as its certificates. */
const tlsBytes = 64 * 1024;

/**
 * Returns the function that sends webhook requests. This function never throws; its result says why a request failed.
 */
export function webhookSender({ networks, seconds, version, resolve = resolveName }: WebhookRules): SendWebhook {
  const isAllowed = addressCheck(networks);
  return async (request, stop) => {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(seconds * 1000)]);
    try {
      const url = new URL(request.url);
      const addresses = await addressesOf(url, isAllowed, resolve, signal);
      return outcomeOf(await send(url, request, { addresses, signal, version }));
    } catch (error) {
      return {
        ok: false,
        status: null,
        error: signal.aborted ? `There was no answer within ${seconds} seconds.` : why(error),
      };
    }
  };
}

/** Returns the value of the signature header: an HMAC-SHA256 of the body. */
const signatureOf = (secret: string, body: string) =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

/** An error whose message is shown to the webhook's owner. */
class DeliveryProblem extends Error {}

/** Returns the addresses of a host to which webhooks may connect. Throws if there are none. */
async function addressesOf(
  { hostname }: URL,
  isAllowed: (address: string) => boolean,
  resolve: NonNullable<WebhookRules["resolve"]>,
  signal: AbortSignal,
): Promise<string[]> {
  const name = hostname.replace(/^\[|\]$/g, "");
  const all = isIP(name) ? [name] : await resolve(name, signal);
  signal.throwIfAborted();
  if (all.length === 0)
    throw new DeliveryProblem(`The host name ${name} has no address. Check the URL of the webhook.`);
  const allowed = all.filter(isAllowed);
  if (allowed.length > 0) return allowed;
  throw new DeliveryProblem(
    `${name} is a private address, and webhooks reach public addresses only. The operator can allow private addresses with MILLRACE_WEBHOOK_NETWORKS.`,
  );
}

/** Resolves a host name to its IPv4 and IPv6 addresses over DNS. */
async function resolveName(name: string, stop: AbortSignal): Promise<string[]> {
  const resolver = new Resolver({ timeout: 2000, tries: 2 });
  const cancel = () => resolver.cancel();
  stop.addEventListener("abort", cancel);
  try {
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = found.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
    const [first] = found;
    if (addresses.length === 0 && first.status === "rejected") throw first.reason;
    return addresses;
  } finally {
    stop.removeEventListener("abort", cancel);
  }
}

interface Way {
  readonly addresses: readonly string[];
  readonly signal: AbortSignal;
  readonly version: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function send(url: URL, request: WebhookRequest, { addresses, signal, version }: Way): Promise<Answer> {
  const body = Buffer.from(request.body);
  const sent: Sent = { isTooLong: false };
  const options: RequestOptions = {
    method: request.method,
    signal,
    createConnection: () => connectCounted(url, request, addresses, sent),
    headers: {
      "content-type": request.isForm ? "application/x-www-form-urlencoded" : "application/json",
      "content-length": body.length,
      "user-agent": `Millrace/${version}`,
      "http-x-datachain-event": request.kind,
      "x-datachain-signature-256": signatureOf(request.secret, request.body),
      "x-millrace-delivery": request.deliveryId,
    },
  };
  return new Promise((resolve, reject) => {
    const asking: ClientRequest = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, options);
    // Once the response has begun, `readAnswer` decides the result.
    let answered = false;
    const fail = (error: Error) => answered || reject(error);
    asking.on("error", fail);
    // Some connections close without an error event, and the delivery must not wait for them forever.
    asking.on("close", () => fail(new DeliveryProblem("The receiver closed the connection without an answer.")));
    asking.on("upgrade", ({ statusCode = 0 }, socket) => {
      socket.destroy();
      resolve({ status: statusCode, text: "" });
    });
    asking.on("response", (response) => {
      answered = true;
      readAnswer(response, sent)
        .then(resolve, reject)
        .finally(() => asking.destroy());
    });
    asking.end(body);
  });
}

interface Sent {
  /** Whether the receiver sent more bytes than allowed. */
  isTooLong: boolean;
}

/**
 * Connects to one of these addresses. If the receiver sends too many bytes, counting all bytes of the connection, the
 * request is aborted. Node parses interim responses, tiny chunks and TLS records without a limit, which would block the
 * event loop.
 */
function connectCounted(
  { protocol, hostname, port }: URL,
  { verifyTls }: WebhookRequest,
  addresses: readonly string[],
  sent: Sent,
): Duplex {
  const isTls = protocol === "https:";
  const host = hostname.replace(/^\[|\]$/g, "");
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_name, asked, done) => {
    const [first] = found;
    if (asked.all) done(null, found);
    else done(null, first?.address ?? "", first?.family);
  };
  const most = answerBytes + (isTls ? tlsBytes : 0);
  const socket = connect({ host, port: Number(port || (isTls ? 443 : 80)), lookup });
  const counted = new CountedConnection(socket, most, () => {
    sent.isTooLong = true;
    return new DeliveryProblem(`The receiver sent more than ${most / 1024} KiB and has not answered yet.`);
  });
  if (!isTls) return counted;
  const servername = isIP(host) ? "" : host;
  return connectTls({ socket: counted, host, servername, rejectUnauthorized: verifyTls });
}

/** Reads the receiver's answer. If the answer is too long, returns only its beginning. */
async function readAnswer(response: IncomingMessage, sent: Sent): Promise<Answer> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch (error) {
    if (!sent.isTooLong) throw error;
  }
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") };
}

function outcomeOf({ status, text }: Answer): AttemptResult {
  if (status >= 200 && status < 300) return { ok: true, status, error: null };
  const said = text
    .replace(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, shownCharacters);
  const redirect =
    status >= 300 && status < 400 ? " (Redirects are not followed: give the webhook its final URL.)" : "";
  return { ok: false, status, error: `The receiver answered ${status}${said ? `: ${said}` : "."}${redirect}` };
}

/** Describes the error of a failed request. The text never contains the URL, which may be secret. */
function why(error: unknown): string {
  if (error instanceof DeliveryProblem) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  return `The receiver could not be reached: ${code ?? message.slice(0, shownCharacters)}.`;
}
