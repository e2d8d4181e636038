/** Presigns URLs. They contain a shared access signature, which only the account key can create. */
import { encodeQuery } from "../../address/url-encoding.ts";
import type { PresignCall } from "../../backend.ts";
import { StorageError } from "../../errors.ts";
import { checkLifetime } from "../../http/presign-lifetime.ts";
import { type AzClient, serviceVersion } from "./client.ts";
import { versionQuery } from "./read.ts";

/**
 * The latest possible expiry, in milliseconds since 1970. The store accepts any time with a four-digit year, and has no
 * maximum lifetime.
 */
const lastMoment = Date.UTC(9999, 11, 31, 23, 59, 59);

/** Permissions that the URL grants, by HTTP method: r is read, c is create, w is write. */
const rights = { GET: "r", PUT: "cw" } as const;

export async function presignBlob(
  client: AzClient,
  key: string,
  call: PresignCall,
  now: number = Date.now(),
): Promise<string> {
  checkLifetime(call.expiresIn, Math.floor((lastMoment - now) / 1000), client.place(key));
  const { authorizer, account, container } = client;
  if (!authorizer.key) {
    throw new StorageError(
      "permission",
      "presign needs an account key, because no other credential can sign URLs; set account_key",
      client.place(key),
    );
  }
  const end = `${new Date(now + call.expiresIn * 1000).toISOString().slice(0, 19)}Z`;
  const protocol = account.url.startsWith("https:") ? "https" : "https,http";
  const kind = call.version ? "bv" : "b";
  const fields = {
    sp: rights[call.method],
    st: "",
    se: end,
    resource: `/blob/${account.name}/${container}/${key}`,
    identifier: "",
    ip: "",
    spr: protocol,
    sv: serviceVersion,
    sr: kind,
    time: call.version ?? "",
    scope: "",
  };
  // The signed text ends with five response headers, which are optional and empty here.
  const sig = authorizer.key.sign([...Object.values(fields), "", "", "", "", ""].join("\n"));
  const { sp, se, spr, sv, sr } = fields;
  return client.url(key) + encodeQuery({ ...versionQuery(call), sv, spr, se, sr, sp, sig });
}
