/** Connects to the server with this user's settings, and turns the server's errors into messages for the user. */
import { ApiError, type Client, createClient, type ErrorCode } from "@millrace/contract";
import { CliError, exitCodes, messageOf } from "./errors.ts";
import { commandFor } from "./next-steps.ts";
import { missingToken, readSettings, type Settings, type SettingsFlags } from "./settings.ts";

type Fetch = typeof fetch;

export interface Connection {
  readonly settings: Settings;
  readonly client: Client;
  /**
   * Returns a client for the same server with another `fetch`. For example, an upload uses one that counts the bytes
   * sent, to show progress.
   */
  clientWith(send: (plain: Fetch) => Fetch): Client;
}

/** Connects to the server with the user's token. Throws if there is no token. */
export async function connect(flags: SettingsFlags = {}): Promise<Connection> {
  const settings = await readSettings(flags);
  if (!settings.token) throw missingToken(settings);
  return openConnection(settings);
}

export function openConnection(settings: Settings): Connection {
  const plain = reachingFetch(settings.url.value);
  const clientWith: Connection["clientWith"] = (send) =>
    createClient({
      url: settings.url.value,
      token: settings.token?.value,
      team: settings.team?.value,
      fetch: send(plain),
    });
  return { settings, client: clientWith((same) => same), clientWith };
}

/** Thrown if the server did not answer; the request may be retried. */
export class UnreachableError extends CliError {}

/** Returns a `fetch` that throws an UnreachableError, with the name of the server, if the server does not answer. */
function reachingFetch(url: string): Fetch {
  return async (input, init) => {
    try {
      return await fetch(input, init);
    } catch (error) {
      if (init?.signal?.aborted) throw error;
      throw unreachable(url, error);
    }
  };
}

function unreachable(url: string, error: unknown): UnreachableError {
  const isHere = ["127.0.0.1", "localhost", "[::1]"].includes(new URL(url).hostname);
  return new UnreachableError(`No answer from the server at ${url}`, {
    why: messageOf(error),
    next: isHere
      ? "millrace serve"
      : "Check the address (--url, DATACHAIN_STUDIO_URL) and the network: millrace doctor",
    cause: error,
  });
}

const titles: Partial<Record<ErrorCode, string>> = {
  unauthorized: "The server does not accept your token",
  forbidden: "You may not do this",
  not_found: "Not found on the server",
  wrong_state: "This is not possible now",
  too_large: "This is too large for the server",
  too_many_requests: "The server asks you to slow down",
  internal: "The server failed",
  unavailable: "The server is not ready",
};

/**
 * Next steps by error code. Permission errors have none, because the server's message already names the role, scope or
 * team that is needed.
 */
const nextSteps: Partial<Record<ErrorCode, string>> = {
  unauthorized: "millrace auth login",
  internal: "Try again; the server's log has the details",
  unavailable: "Try again in a moment",
};

/** Turns an API error into a message for the user; returns undefined for any other error. */
export function explainApiError(error: unknown): CliError | undefined {
  if (!(error instanceof ApiError)) return undefined;
  return new CliError(titles[error.code] ?? "The server did not accept the request", {
    why: error.message,
    next: commandFor(error.hint) ?? nextSteps[error.code],
    exitCode: error.code === "unauthorized" ? exitCodes.signInNeeded : exitCodes.error,
    cause: error,
  });
}
