/**
 * Presigns URLs with version 4 signatures. The signatures are made with the key of a service account, or by Google's
 * signing service.
 */
import { createHash } from "node:crypto";
import { encodeKey, encodeQuery, encodeText } from "../../address/url-encoding.ts";
import type { PresignCall } from "../../backend.ts";
import { StorageError } from "../../errors.ts";
import { checkLifetime, longestLifetime } from "../../http/presign-lifetime.ts";
import type { GsClient } from "./client.ts";
import { urlSigner } from "./credentials.ts";
import { generationQuery } from "./read.ts";

export async function presignObject(
  client: GsClient,
  key: string,
  call: PresignCall,
  now: Date = new Date(),
): Promise<string> {
  checkLifetime(call.expiresIn, longestLifetime, client.place(key));
  const signer = await urlSigner(client.configuration);
  if (!signer) {
    const message = "presign needs a service account: set token to the path of its key file";
    throw new StorageError("permission", message, client.place(key));
  }
  const path = `/${encodeText(client.bucket)}/${encodeKey(key)}`;
  const time = now.toISOString().replace(/[-:]|\.\d+/g, "");
  const scope = `${time.slice(0, 8)}/auto/storage/goog4_request`;
  const query = encodeQuery(
    inOrder({ ...(await queryOf(client, call)), ...signedBy(signer.email, scope, time, call) }),
  ).slice(1);
  const request = [call.method, path, query, `host:${new URL(client.endpoint).host}`, "", "host", "UNSIGNED-PAYLOAD"];
  const digest = createHash("sha256").update(request.join("\n")).digest("hex");
  const signature = await signer.sign(["GOOG4-RSA-SHA256", time, scope, digest].join("\n"));
  return `${client.endpoint}${path}?${query}&X-Goog-Signature=${signature.toString("hex")}`;
}

const queryOf = async (client: GsClient, call: PresignCall) => ({
  ...generationQuery(call),
  ...(await client.payerQuery()),
});

const signedBy = (email: string, scope: string, time: string, { expiresIn }: PresignCall) => ({
  "X-Goog-Algorithm": "GOOG4-RSA-SHA256",
  "X-Goog-Credential": `${email}/${scope}`,
  "X-Goog-Date": time,
  "X-Goog-Expires": String(expiresIn),
  "X-Goog-SignedHeaders": "host",
});

const inOrder = (query: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1)));
