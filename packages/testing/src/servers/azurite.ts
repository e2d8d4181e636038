/** azurite: an emulator of Azure Blob Storage with shared keys and SAS tokens, but without object versions. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type ServerProcess, startServer } from "./server-process.ts";

const require = createRequire(import.meta.url);
const program = join(dirname(require.resolve("azurite/package.json")), "dist/src/blob/main.js");

export interface AzServer extends ServerProcess {
  readonly account_name: string;
  readonly account_key: string;
  readonly connection_string: string;
}

/** The documented default account of azurite, which is not a secret. */
const account_name = "devstoreaccount1";
const account_key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

export async function startAzurite(): Promise<AzServer> {
  const server = await startServer("azurite", (port, folder) => ({
    program: process.execPath,
    words: [
      ...[program, "--blobHost", "127.0.0.1", "--blobPort", String(port), "-l", folder],
      ...["--skipApiVersionCheck", "--silent", "--disableTelemetry"],
    ],
  }));
  const endpoint = `http://127.0.0.1:${server.port}/${account_name}`;
  const account = `AccountName=${account_name};AccountKey=${account_key}`;
  const connection_string = `DefaultEndpointsProtocol=http;${account};BlobEndpoint=${endpoint};`;
  return { ...server, account_name, account_key, connection_string };
}
