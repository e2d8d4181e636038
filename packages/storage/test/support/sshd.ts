/** An OpenSSH server with SFTP, its own host key and one user who logs in with a key. */
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { skipUnless } from "@millrace/testing/programs/program.ts";
import { type ServerProcess, startServer } from "@millrace/testing/servers/server-process.ts";

const run = promisify(execFile);
const program = "/usr/sbin/sshd";

export const whyNoSshd = () => skipUnless("sshd", () => run(program, ["-V"]).catch(ignoreUsage));

/** Older versions do not know -V, and print their usage instead. */
function ignoreUsage(error: NodeJS.ErrnoException & { stderr?: string }): void {
  if (!error.stderr?.includes("OpenSSH")) throw error;
}

export interface SshServer extends ServerProcess {
  /** Path up to the folder of the files. */
  readonly uri: string;
  readonly data: string;
  readonly username: string;
  /** Files with the user's private key, the host's public key, and a known_hosts that has it. */
  readonly userKey: string;
  readonly hostKey: string;
  readonly knownHosts: string;
}

export async function startSshd(): Promise<SshServer> {
  const server = await startServer("sshd", async (port, folder) => {
    await mkdir(join(folder, "data"));
    // The directory of its privilege separation; it does not start without.
    await mkdir("/run/sshd", { recursive: true }).catch(() => {});
    for (const name of ["host", "user"]) {
      await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", join(folder, name)]);
    }
    await writeFile(join(folder, "sshd_config"), configuration(port, folder));
    const hostKey = await readFile(join(folder, "host.pub"), "utf8");
    await writeFile(join(folder, "known_hosts"), `[127.0.0.1]:${port} ${hostKey}`);
    return { program, words: ["-D", "-e", "-f", join(folder, "sshd_config")] };
  });
  const data = join(server.folder, "data");
  return {
    ...server,
    uri: `sftp://127.0.0.1:${server.port}${data}`,
    data,
    username: userInfo().username,
    userKey: join(server.folder, "user"),
    hostKey: join(server.folder, "host.pub"),
    knownHosts: join(server.folder, "known_hosts"),
  };
}

const configuration = (port: number, folder: string) => `
Port ${port}
ListenAddress 127.0.0.1
HostKey ${folder}/host
PidFile ${folder}/sshd.pid
AuthorizedKeysFile ${folder}/user.pub
PasswordAuthentication no
PermitRootLogin yes
StrictModes no
UsePAM no
MaxStartups 100
Subsystem sftp internal-sftp
`;
