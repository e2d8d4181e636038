/**
 * fake-gcs-server: an emulator of Google Cloud Storage in memory. No authentication; preconditions for uploads only.
 */
import { programPath, whyNoProgram } from "../programs/program.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

const program = { name: "fake-gcs-server", version: "1.56.1", source: "github.com/fsouza/fake-gcs-server" };

export const whyNoFakeGcsServer = () => whyNoProgram(program);

export interface GsServer extends ServerProcess {
  readonly endpoint_url: string;
}

export async function startFakeGcsServer(): Promise<GsServer> {
  const server = await startServer("gs", (port) => ({
    program: programPath(program),
    words: [
      ...["-scheme", "http", "-host", "127.0.0.1", "-port", String(port)],
      ...["-backend", "memory", "-public-host", `127.0.0.1:${port}`, "-log-level", "error"],
    ],
  }));
  return { ...server, endpoint_url: `http://127.0.0.1:${server.port}` };
}
