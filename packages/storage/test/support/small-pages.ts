/** Listings of a real server in small pages, because creating thousands of objects takes too long. */
import type { Backend } from "../../src/backend.ts";
import { defaultRetryPolicy } from "../../src/concurrency/retry.ts";
import { resolveConfiguration } from "../../src/configuration/configuration.ts";
import type { ClientConfig } from "../../src/configuration/parameters.ts";
import { createHttpClient } from "../../src/http/client.ts";
import { listByFolders } from "../../src/listing/folder-listing.ts";
import { listPages } from "../../src/listing/listing.ts";
import { accountOf } from "../../src/schemes/az/account.ts";
import { AzClient } from "../../src/schemes/az/client.ts";
import { fetchPage as fetchAzPage } from "../../src/schemes/az/list.ts";
import { parameters as az } from "../../src/schemes/az/parameters.ts";
import { GsClient } from "../../src/schemes/gs/client.ts";
import { fetchPage as fetchGsPage } from "../../src/schemes/gs/list.ts";
import { parameters as gs } from "../../src/schemes/gs/parameters.ts";

const pageSize = 17;

const newHttp = () => createHttpClient({ connections: 16, connectTimeout: 10, readTimeout: 30 });

export async function listAzInSmallPages(container: string, prefix: string, config: ClientConfig): Promise<string[]> {
  const configuration = resolveConfiguration(["az"], az, config, {});
  const account = accountOf(configuration, { uri: "", scheme: "az", bucket: container, path: "" });
  const client = new AzClient({ account, container, configuration, http: newHttp(), retry: defaultRetryPolicy });
  return pathsOf(
    listByFolders((call) => fetchAzPage(client, { limit: pageSize, ...call }), prefix, {}),
    client,
  );
}

export async function listGsInSmallPages(bucket: string, prefix: string, config: ClientConfig): Promise<string[]> {
  const configuration = resolveConfiguration(["gs"], gs, config, {});
  const client = new GsClient(bucket, configuration, newHttp(), defaultRetryPolicy);
  return pathsOf(
    listPages((call) => fetchGsPage(client, { limit: pageSize, ...call }), prefix, {}),
    client,
  );
}

async function pathsOf(pages: ReturnType<Backend["list"]>, client: { close(): Promise<void> }): Promise<string[]> {
  try {
    return (await Array.fromAsync(pages)).flat().map(({ path }) => path);
  } finally {
    await client.close();
  }
}
