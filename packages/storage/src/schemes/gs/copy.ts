/** Copies an object inside the store. The copy of a large object takes several requests. */
import { encodeText } from "../../address/url-encoding.ts";
import type { VersionCall } from "../../backend.ts";
import type { GsClient } from "./client.ts";

interface Rewrite {
  readonly done: boolean;
  readonly rewriteToken?: string;
}

export async function copyObject(client: GsClient, from: string, to: string, call: VersionCall): Promise<void> {
  const path = `${client.objectPath(from)}/rewriteTo/b/${encodeText(client.bucket)}/o/${encodeText(to)}`;
  const query: Record<string, string> = { fields: "done,rewriteToken" };
  if (call.version) query["sourceGeneration"] = call.version;
  const { signal } = call;
  for (;;) {
    const step = await client.sendForJson<Rewrite>({ method: "POST", path, key: from, query, signal });
    if (step.done || step.rewriteToken === undefined) return;
    query["rewriteToken"] = step.rewriteToken;
  }
}
