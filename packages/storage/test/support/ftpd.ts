/** FTP servers: pyftpdlib, with machine-readable lists and TLS, and vsftpd, with neither. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { skipUnless } from "@millrace/testing/programs/program.ts";
import { pythonProgram } from "@millrace/testing/programs/python-packages.ts";
import { type ServerProcess, startServer } from "@millrace/testing/servers/server-process.ts";

const run = promisify(execFile);

export interface FtpServer extends ServerProcess {
  /** Folder of the files, as the server sees it: from its root. */
  readonly root: string;
  /** The same folder on this machine. */
  readonly data: string;
}

export interface Pyftpdlib extends FtpServer {
  /** Ends all connections: like idle ones, with a message first, or silently. */
  endConnections(how: "told" | "silently"): Promise<void>;
}

export const ftpUser = { username: "user", password: "pass word" };

/** A pyftpdlib server; with TLS, its certificate is `cert.pem` in its folder. */
export async function startPyftpdlib(options: { tls?: boolean } = {}): Promise<Pyftpdlib> {
  const server = await startServer("pyftpdlib", async (port, folder) => {
    await mkdir(join(folder, "data"));
    if (options.tls) await makeCertificate(folder);
    await writeFile(join(folder, "server.py"), pyftpdlibScript);
    const words = [join(folder, "server.py"), String(port), join(folder, "data")];
    return { program: pythonProgram("python"), words: options.tls ? [...words, join(folder, "cert.pem")] : words };
  });
  const endConnections = async (how: "told" | "silently") => {
    process.kill(server.pid as number, how === "told" ? "SIGUSR1" : "SIGUSR2");
    // It has one thread, which handles a signal before it greets the next client.
    const witness = connect(server.port, "127.0.0.1");
    await once(witness, "data");
    witness.destroy();
  };
  return { ...server, root: "", data: join(server.folder, "data"), endConnections };
}

const pyftpdlibScript = `
import signal, sys
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler, TLS_FTPHandler
from pyftpdlib.servers import FTPServer
port, data, certificate = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
authorizer = DummyAuthorizer()
authorizer.add_user("${ftpUser.username}", "${ftpUser.password}", data, perm="elradfmwMT")
handler = TLS_FTPHandler if certificate else FTPHandler
handler.authorizer = authorizer
handler.auth_failed_timeout = 0
if certificate:
    handler.certfile = certificate[0]
    handler.tls_control_required = handler.tls_data_required = True
server = FTPServer(("127.0.0.1", port), handler)
def end_connections(number, frame):
    for each in list(server.ioloop.socket_map.values()):
        if isinstance(each, FTPHandler):
            each.handle_timeout() if number == signal.SIGUSR1 else each.close()
signal.signal(signal.SIGUSR1, end_connections)
signal.signal(signal.SIGUSR2, end_connections)
server.serve_forever()
`;

async function makeCertificate(folder: string): Promise<void> {
  const file = join(folder, "cert.pem");
  const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await run("openssl", ["req", "-x509", "-days", "1", ...key, ...subject, "-keyout", file, "-out", join(folder, "c")]);
  await run("sh", ["-c", 'cat "$1/c" >> "$1/cert.pem"', "sh", folder]);
}

const vsftpd = "/usr/sbin/vsftpd";

/** It stores files as another user, so it must be started by root. */
export const whyNoVsftpd = () =>
  skipUnless("vsftpd", async () => {
    await run("sh", ["-c", `test -x ${vsftpd}`]);
    if (process.getuid?.() !== 0) throw new Error("only root can start it");
  });

export async function startVsftpd(): Promise<FtpServer> {
  const { stdout } = await run("id", ["-u", "ftp"]);
  const server = await startServer("vsftpd", async (port, folder) => {
    const data = join(folder, "root/data");
    await mkdir(data, { recursive: true });
    await chmod(folder, 0o755);
    await chown(data, Number(stdout), Number(stdout));
    await writeFile(join(folder, "vsftpd.conf"), vsftpdConfiguration(port, folder));
    return { program: vsftpd, words: [join(folder, "vsftpd.conf")] };
  });
  return { ...server, root: "/data", data: join(server.folder, "root/data") };
}

const vsftpdConfiguration = (port: number, folder: string) => `
listen=YES
listen_address=127.0.0.1
listen_port=${port}
background=NO
seccomp_sandbox=NO
anonymous_enable=YES
no_anon_password=YES
anon_root=${folder}/root
write_enable=YES
anon_upload_enable=YES
anon_mkdir_write_enable=YES
anon_other_write_enable=YES
anon_world_readable_only=NO
anon_umask=022
secure_chroot_dir=${folder}/root
xferlog_enable=NO
`;
