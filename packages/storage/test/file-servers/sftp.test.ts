import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { after, before } from "node:test";
import { openStorage } from "@millrace/storage";
import { sftpScheme } from "../../src/schemes/sftp/scheme.ts";
import { conformance } from "../conformance.ts";
import { type SshServer, startSshd, whyNoSshd } from "../support/sshd.ts";

const skip = await whyNoSshd();
let server: SshServer;
before(async () => {
  if (!skip) server = await startSshd();
});
after(() => server?.stop());

conformance(
  "sftp://",
  {
    capabilities: sftpScheme.capabilities,
    async open() {
      const folder = await mkdtemp(join(server.data, "place-"));
      const { username, userKey: key_filename, knownHosts: known_hosts } = server;
      return openStorage(`sftp://127.0.0.1:${server.port}${folder}`, { username, key_filename, known_hosts });
    },
  },
  skip,
);
