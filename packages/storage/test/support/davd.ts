/** WebDAV servers: wsgidav, which honours conditions, and nginx, which ignores them on writes. */
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { skipUnless } from "@millrace/testing/programs/program.ts";
import { pythonProgram } from "@millrace/testing/programs/python-packages.ts";
import { startNginx, type WebServer, whyNoNginx } from "@millrace/testing/servers/nginx.ts";
import { type ServerProcess, startServer } from "@millrace/testing/servers/server-process.ts";

export const davUser = { username: "user", password: "pass word" };

export async function startWsgidav(): Promise<ServerProcess> {
  return startServer("wsgidav", async (port, folder) => {
    await mkdir(join(folder, "data"));
    await writeFile(join(folder, "wsgidav.yaml"), wsgidavConfiguration(port, folder));
    return { program: pythonProgram("wsgidav"), words: [`--config=${join(folder, "wsgidav.yaml")}`, "--quiet"] };
  });
}

const wsgidavConfiguration = (port: number, folder: string) => `
host: 127.0.0.1
port: ${port}
provider_mapping:
  "/": "${folder}/data"
http_authenticator:
  accept_basic: true
  accept_digest: false
  default_to_digest: false
simple_dc:
  user_mapping:
    "*":
      "${davUser.username}":
        password: "${davUser.password}"
`;

const davModule = "/usr/lib/nginx/modules/ngx_http_dav_ext_module.so";

/** nginx itself only writes; a separate module lists. */
export async function whyNoNginxDav(): Promise<false | string> {
  return (await whyNoNginx()) || skipUnless("nginx's module for WebDAV", () => access(davModule));
}

export const startNginxDav = (): Promise<WebServer> =>
  startNginx({
    locations: `location / {
      client_max_body_size 0;
      dav_methods PUT DELETE MKCOL COPY MOVE;
      dav_ext_methods PROPFIND OPTIONS;
      dav_access user:rw;
    }`,
    modules: `load_module ${davModule};`,
  });
