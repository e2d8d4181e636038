/** Presigns URLs. */
import type { PresignCall } from "../../backend.ts";
import { checkLifetime, longestLifetime } from "../../http/presign-lifetime.ts";
import type { S3Client } from "./client.ts";
import { versionQuery } from "./read.ts";

const callOf = { GET: "get", PUT: "put" } as const;

export async function presignObject(client: S3Client, key: string, call: PresignCall): Promise<string> {
  const { method, expiresIn } = call;
  checkLifetime(expiresIn, longestLifetime, client.place(key));
  return client.presign({ call: callOf[method], method, key, query: versionQuery(call) }, expiresIn);
}
