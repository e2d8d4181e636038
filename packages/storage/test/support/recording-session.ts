/**
 * An HTTP client with the interface of the vendor's packages: it records requests, and answers for the store and for
 * its sign-in.
 */

interface SessionRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

interface Given {
  readonly url: string;
  readonly method: string;
  readonly headers: { toJSON(): Record<string, string> };
  readonly body?: unknown;
}

interface SessionAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text?: string;
}

export function recordingSession() {
  const requests: SessionRequest[] = [];
  /** Answers to the next requests, before the usual ones. */
  const answers: SessionAnswer[] = [];
  return {
    requests,
    answers,
    async sendRequest(request: Given) {
      const { url, method } = request;
      const body = typeof request.body === "string" ? request.body : "";
      requests.push({ url, method, headers: request.headers.toJSON(), body });
      const { status, headers = {}, text = "" } = answers.shift() ?? usualAnswer(url);
      return { request, status, headers: headersOf(headers), bodyAsText: text };
    },
  };
}

const json = { "content-type": "application/json" };

function usualAnswer(url: string): SessionAnswer {
  const { hostname, pathname } = new URL(url);
  if (hostname !== "login.microsoftonline.com") {
    return { status: 206, headers: { etag: '"e"', "content-length": "2", "content-range": "bytes 0-1/2" }, text: "ok" };
  }
  const place = `https://${hostname}${pathname.split("/").slice(0, 2).join("/")}`;
  if (pathname.includes("openid-configuration")) {
    const endpoints = { token_endpoint: `${place}/oauth2/v2.0/token`, authorization_endpoint: `${place}/authorize` };
    return {
      status: 200,
      headers: json,
      text: JSON.stringify({ ...endpoints, issuer: place, jwks_uri: `${place}/keys` }),
    };
  }
  if (pathname.includes("discovery")) {
    const metadata = [{ preferred_network: hostname, preferred_cache: hostname, aliases: [hostname] }];
    return { status: 200, headers: json, text: JSON.stringify({ tenant_discovery_endpoint: `${place}/x`, metadata }) };
  }
  return {
    status: 200,
    headers: json,
    text: JSON.stringify({ access_token: "exchanged", token_type: "Bearer", expires_in: 3600, ext_expires_in: 3600 }),
  };
}

function headersOf(headers: Readonly<Record<string, string>>) {
  const values = new Map(Object.entries(headers));
  return {
    get: (name: string) => values.get(name.toLowerCase()),
    has: (name: string) => values.has(name.toLowerCase()),
    set: (name: string, value: string) => void values.set(name.toLowerCase(), value),
    delete: (name: string) => void values.delete(name.toLowerCase()),
    toJSON: () => Object.fromEntries(values),
    [Symbol.iterator]: () => values.entries(),
  };
}
