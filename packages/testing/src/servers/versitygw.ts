/** versitygw: an S3 server that stores objects as files in a folder, with object versions. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { programPath, whyNoProgram } from "../programs/program.ts";
import { type S3Endpoint, s3Endpoint } from "./s3-endpoint.ts";
import { startServer } from "./server-process.ts";

const program = { name: "versitygw", version: "1.8.0", source: "github.com/versity/versitygw/cmd/versitygw" };

export const whyNoVersitygw = () => whyNoProgram(program);

export interface S3Server extends S3Endpoint {
  /** Folder in which the objects are files. */
  readonly data: string;
}

const key = "test-key";
const secret = "test-secret-of-the-tests";

/** With `sidecar`, stores metadata in files: extended attributes are too small for uploads with many parts. */
export async function startVersitygw({ sidecar = false } = {}): Promise<S3Server> {
  const server = await startServer("versitygw", async (port, folder) => {
    for (const name of ["data", "versions", "sidecar"]) await mkdir(join(folder, name));
    const beside = sidecar ? ["--sidecar", join(folder, "sidecar")] : [];
    const backend = ["posix", ...beside, "--versioning-dir", join(folder, "versions"), join(folder, "data")];
    return {
      program: programPath(program),
      words: ["--quiet", "--port", `127.0.0.1:${port}`, ...backend],
      environment: { ROOT_ACCESS_KEY: key, ROOT_SECRET_KEY: secret },
    };
  });
  const config = { endpoint_url: `http://127.0.0.1:${server.port}`, key, secret };
  return { ...s3Endpoint(server, config), data: join(server.folder, "data") };
}
