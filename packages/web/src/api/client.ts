/** The typed client of the contract. The browser's session cookie authenticates its calls. */
import { ApiError, type Client, createClient } from "@millrace/contract";
import { prefix } from "./base.ts";

/** Set when the browser could not reach the server at all. */
export class Offline extends Error {
  constructor() {
    super("The server cannot be reached. The page tries again by itself.");
  }
}

async function reach(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(input, init);
  } catch (error) {
    if (init?.signal?.aborted) throw error;
    throw new Offline();
  }
}

const clients = new Map<string, Client>();

/** Returns the client whose calls are about this team; undefined for calls that are about no team. */
export function clientOf(team: string | undefined): Client {
  const key = team ?? "";
  const known = clients.get(key) ?? createClient({ url: prefix, team, fetch: reach });
  clients.set(key, known);
  return known;
}

/** Tells whether a call may succeed if it is repeated. */
export const mayPass = (error: unknown) =>
  error instanceof Offline || (error instanceof ApiError && (error.status === 429 || error.status >= 502));

export const isSignedOut = (error: unknown) => error instanceof ApiError && error.code === "unauthorized";
