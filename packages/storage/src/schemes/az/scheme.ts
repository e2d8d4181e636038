/** `az://container/path`: Azure Blob Storage; also `abfs://container@account.host/path`, which names the account. */
import { type Location, parseStoreUri } from "../../address/uri.ts";
import { objectStoreCapabilities } from "../../capabilities.ts";
import { StorageError } from "../../errors.ts";
import { defineScheme } from "../../scheme.ts";
import { accountOf } from "./account.ts";
import { parameters } from "./parameters.ts";

export const azScheme = defineScheme({
  names: ["az", "abfs", "abfss"],
  parameters,
  capabilities: objectStoreCapabilities,
  parse,
  check: (configuration, location) => {
    accountOf(configuration, location);
    const { request_session } = configuration.values;
    if (request_session === null || "sendRequest" in request_session) return;
    throw new StorageError("config", "request_session: expected an object with a sendRequest method", { scheme: "az" });
  },
  load: () => import("./open.ts"),
});

function parse(uri: string): Location {
  const location = parseStoreUri(uri);
  const at = location.bucket.indexOf("@");
  if (at === 0)
    throw new StorageError(
      "config",
      `${uri}: the container is missing before the @; expected abfs://container@account.host/path`,
      { scheme: "az" },
    );
  return at < 0 ? location : { ...location, bucket: location.bucket.slice(0, at) };
}
