/** The conformance suite through the bridge to fsspec: its local files, its memory, and s3fs with a real server. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { type ClientConfig, openStorage } from "@millrace/storage";
import { pythonProgram, whyNoPythonPackages } from "@millrace/testing/programs/python-packages.ts";
import { type S3Server, startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";
import { conformance } from "../conformance.ts";

const skip = await whyNoPythonPackages();
const skipS3 = skip || (await whyNoVersitygw());
const environment = { ...process.env, MILLRACE_FSSPEC_PYTHON: pythonProgram("python") };
const open = (uri: string, config: ClientConfig = {}) => openStorage(uri, config, { environment });
const capabilitiesOf = (uri: string) => open(uri).capabilities;

let folder: string;
let server: S3Server;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-fsspec-"));
  if (!skipS3) server = await startVersitygw();
});
after(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

conformance(
  "fsspec+local://",
  {
    capabilities: capabilitiesOf("fsspec+local:///x"),
    open: async () => open(`fsspec+local://${await mkdtemp(join(folder, "place-"))}`),
  },
  skip,
);

conformance(
  "fsspec+memory://",
  {
    capabilities: capabilitiesOf("fsspec+memory://x"),
    open: async () => open(`fsspec+memory://${randomUUID()}`),
  },
  skip,
);

conformance(
  "fsspec+s3://",
  {
    capabilities: capabilitiesOf("fsspec+s3://x"),
    // The server stores objects as files.
    refusedKeys: ["a key that others take for their folder"],
    async open() {
      const bucket = await server.makeBucket(`bucket-${randomUUID()}`);
      const { key, secret, endpoint_url } = server.config as { [name: string]: string };
      return open(`fsspec+s3://${bucket}/below`, { key, secret, endpoint_url });
    },
  },
  skipS3,
);
