/** Copies a blob inside the store. If the store copies in the background, polls it until the copy has ended. */
import { setTimeout as pause } from "node:timers/promises";
import type { VersionCall } from "../../backend.ts";
import { StorageError } from "../../errors.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import type { AzClient } from "./client.ts";
import { versionQuery } from "./read.ts";

const firstPause = 50;
const longestPause = 5000;

export async function copyBlob(client: AzClient, from: string, to: string, call: VersionCall): Promise<void> {
  const { signal } = call;
  const headers = { "x-ms-copy-source": client.url(from, versionQuery(call)) };
  let answer = await client.send({ method: "PUT", key: to, headers, signal });
  await answer.discard();
  const id = answer.header("x-ms-copy-id");
  for (
    let wait = firstPause;
    answer.header("x-ms-copy-status") === "pending";
    wait = Math.min(wait * 2, longestPause)
  ) {
    await pause(wait, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
    answer = await client.send({ method: "HEAD", key: to, signal });
    await answer.discard();
  }
  refuseUnfinished(client, to, answer, id);
}

function refuseUnfinished(client: AzClient, key: string, answer: HttpAnswer, id: string | undefined): void {
  const status = answer.header("x-ms-copy-status") ?? "success";
  const why =
    status === "success"
      ? ", but another write has replaced the blob since; copy it again"
      : `: ${answer.header("x-ms-copy-status-description") ?? "the store gave no reason"}`;
  if (status === "success" && answer.header("x-ms-copy-id") === id) return;
  throw new StorageError(
    "failed",
    `az://${client.container}/${key}: the copy ended with status ${status}${why}`,
    client.place(key),
  );
}
