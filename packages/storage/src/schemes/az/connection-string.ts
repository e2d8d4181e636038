/** Parses connection strings: name=value pairs separated by semicolons. */
import { StorageError } from "../../errors.ts";

interface Connection {
  readonly name: string;
  readonly url: string;
  readonly key: string | undefined;
  readonly signature: string | undefined;
}

/** The connection string of the local emulator, Azurite. Its account key is published and not secret. */
const emulator =
  "AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1";

export function parseConnectionString(text: string): Connection {
  const pairs = pairsOf(text);
  if (pairs.get("usedevelopmentstorage")?.toLowerCase() === "true") return parseConnectionString(emulator);
  const name = pairs.get("accountname") ?? "";
  const suffix = pairs.get("endpointsuffix") ?? "core.windows.net";
  const protocol = pairs.get("defaultendpointsprotocol") ?? "https";
  const endpoint = pairs.get("blobendpoint") ?? (name && `${protocol}://${name}.blob.${suffix}`);
  const [url = "", signature] = endpoint.split("?");
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw new StorageError("config", "connection_string: expected AccountName, or BlobEndpoint with a valid URL", {
      scheme: "az",
    });
  }
  return {
    name: name || nameOf(url),
    url: url.replace(/\/+$/, ""),
    key: pairs.get("accountkey"),
    signature: pairs.get("sharedaccesssignature") ?? signature,
  };
}

function pairsOf(text: string): Map<string, string> {
  const pairs = text.split(";").map((pair) => pair.trim());
  // A value may contain equals signs: account keys end with them.
  return new Map(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at).toLowerCase(), pair.slice(at + 1)];
    }),
  );
}

const nameOf = (url: string) => new URL(url).hostname.split(".")[0] ?? "";
