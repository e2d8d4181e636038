/** Users and teams for tests, created in the same way as administrators create them. */
import assert from "node:assert/strict";
import { type ApiError, type Client, createClient, type ErrorCode, type Role, routes } from "@millrace/contract";
import type { InProcessServer } from "./in-process.ts";

export interface Person {
  readonly username: string;
  readonly token: string;
  readonly client: Client;
}

interface Wishes {
  readonly team?: string;
  readonly role?: Role;
  readonly password?: string;
  readonly isAdmin?: boolean;
}

/** Creates a user, in a team unless none is named, with a token of all their rights. */
export async function addPerson(server: InProcessServer, username: string, wishes: Wishes = {}): Promise<Person> {
  const admin = await server.client();
  const { team, role = "editor", password, isAdmin = false } = wishes;
  await admin.call(routes.createUser, { body: { username, is_admin: isAdmin, password: password ?? null } });
  if (team) await admin.call(routes.addMember, { params: { team_name: team }, body: { username, role } });
  const token = await server.token({ user: username });
  return { username, token, client: createClient({ url: server.url, token, team }) };
}

export async function addTeam(server: InProcessServer, name: string): Promise<void> {
  await (await server.client()).call(routes.createTeam, { body: { name } });
}

/** Asserts that the call is refused with this code and a matching message. */
export const refused = (call: Promise<unknown>, code: ErrorCode, message = /./) =>
  assert.rejects(call, (error: ApiError) => {
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  });

/** A simple browser: keeps its cookie, follows no redirects, sends forms from the page's own site. */
export class Visitor {
  readonly #url: string;
  readonly #jar = new Map<string, string>();

  constructor(url: string) {
    this.#url = url;
  }

  get cookie(): string {
    return [...this.#jar].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  async get(path: string): Promise<Response> {
    return this.#keep(await fetch(this.#url + path, { redirect: "manual", headers: { cookie: this.cookie } }));
  }

  async post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
    const own = { origin: this.#url, cookie: this.cookie, ...headers };
    const body = new URLSearchParams(fields);
    return this.#keep(await fetch(this.#url + path, { method: "POST", redirect: "manual", headers: own, body }));
  }

  #keep(response: Response): Response {
    for (const set of response.headers.getSetCookie()) {
      const [name = "", value = ""] = (set.split(";")[0] ?? "").split("=");
      this.#jar.set(name, value);
    }
    return response;
  }
}
