/**
 * Changes of a repository, as lines of a commit. Each change is committed immediately, or collected until a batch is
 * finished.
 */
import { folderOf } from "../../address/uri.ts";
import type { BatchCall, CallOptions } from "../../backend.ts";
import { isStorageError } from "../../errors.ts";
import { parseJson } from "../../http/parse-answer.ts";
import type { HubClient } from "./client.ts";

/** A line of a commit, in the hub's format. */
export type CommitLine =
  | { key: "file"; value: { path: string; content: string; encoding: "base64" } }
  | { key: "lfsFile"; value: { path: string; algo: "sha256"; oid: string; size: number } }
  | { key: "deletedFile"; value: { path: string } };

export interface ChangeCall extends CallOptions {
  readonly summary: string;
  /** Checks the caller's precondition against a commit. Rejects if the change must not be based on this commit. */
  readonly condition?: ((commit: string) => Promise<void>) | undefined;
}

export interface Changes {
  /** The client of the repository that is changed. */
  readonly client: HubClient;
  /**
   * Commits the lines and returns the id of the commit. In a batch, only collects the lines and returns an empty text.
   */
  make(lines: readonly CommitLine[], call: ChangeCall): Promise<string>;
  /** In a batch, drops the collected changes of this file, or of all files in this folder. */
  forget(path: string): void;
}

const mostAttempts = 8;

/** Makes a commit for each change, one after the other, because the hub refuses concurrent commits. */
export class ImmediateChanges implements Changes {
  readonly client: HubClient;
  #last: Promise<unknown> = Promise.resolve();

  constructor(client: HubClient) {
    this.client = client;
  }

  make(lines: readonly CommitLine[], call: ChangeCall): Promise<string> {
    const made = this.#last.then(() => this.#make(lines, call));
    this.#last = made.catch(() => {});
    return made;
  }

  forget(): void {}

  /**
   * Makes a commit and returns its id. If another client has committed meanwhile, checks the condition again and
   * retries.
   */
  async #make(lines: readonly CommitLine[], call: ChangeCall): Promise<string> {
    for (let attempt = 1; ; attempt += 1) {
      const parent = call.condition ? await this.client.head(call) : undefined;
      if (parent !== undefined) await call.condition?.(parent);
      try {
        return await commit(this.client, lines, { ...call, parent });
      } catch (error) {
        if (!isStorageError(error, "precondition") || attempt >= mostAttempts) throw error;
      }
    }
  }
}

/** Collects all changes into one commit. If a path is changed several times, the last change wins. */
export class GatheredChanges implements Changes {
  readonly client: HubClient;
  readonly #call: BatchCall;
  readonly #lines = new Map<string, CommitLine>();
  /** The commit at which conditions were checked. The new commit must directly follow it. */
  #parent: string | undefined;

  constructor(client: HubClient, call: BatchCall) {
    this.client = client;
    this.#call = call;
  }

  async make(lines: readonly CommitLine[], { condition, signal }: ChangeCall): Promise<string> {
    if (condition) {
      this.#parent ??= await this.client.head({ signal });
      await condition(this.#parent);
    }
    for (const line of lines) this.#lines.set(line.value.path, line);
    return "";
  }

  forget(path: string): void {
    for (const gathered of this.#lines.keys()) {
      if (gathered === path || gathered.startsWith(folderOf(path))) this.#lines.delete(gathered);
    }
  }

  async commit(): Promise<void> {
    const { signal, message } = this.#call;
    const count = this.#lines.size;
    if (count === 0) return;
    const summary = message ?? `Change ${count} ${count === 1 ? "file" : "files"}`;
    await commit(this.client, [...this.#lines.values()], { signal, summary, parent: this.#parent });
  }
}

async function commit(
  client: HubClient,
  lines: readonly CommitLine[],
  { summary, parent, signal }: ChangeCall & { readonly parent: string | undefined },
): Promise<string> {
  const header = { key: "header", value: { summary, description: "", ...(parent ? { parentCommit: parent } : {}) } };
  const body = Buffer.from([header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""));
  const { answer } = await client.send({
    method: "POST",
    url: await client.apiUrl("commit"),
    key: lines.length === 1 ? (lines[0]?.value.path ?? "") : "",
    headers: { "content-type": "application/x-ndjson" },
    body,
    signal,
  });
  const { commitOid } = await parseJson<{ commitOid: string }>(answer, client.place(""));
  return commitOid;
}
