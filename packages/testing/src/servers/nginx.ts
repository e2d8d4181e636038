/** nginx: a real web server over a folder, with ranges and preconditions. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { whyNotInstalled } from "../programs/program.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

export const whyNoNginx = () => whyNotInstalled("nginx", "-v");

export interface WebServer extends ServerProcess {
  readonly url: string;
  /** Folder that is served. */
  readonly root: string;
}

/**
 * Starts nginx for a folder. The options are lines of its configuration: `locations` in the server block, `maps`
 * outside it, `modules` at the start, to load modules that are not built in.
 */
export async function startNginx({ locations = "", maps = "", modules = "" } = {}): Promise<WebServer> {
  const server = await startServer("nginx", async (port, folder) => {
    await mkdir(join(folder, "root"));
    await writeFile(join(folder, "nginx.conf"), modules + configuration(port, folder, locations, maps));
    return {
      program: "nginx",
      words: ["-p", folder, "-e", join(folder, "error.log"), "-c", join(folder, "nginx.conf")],
    };
  });
  return { ...server, url: `http://127.0.0.1:${server.port}`, root: join(server.folder, "root") };
}

const configuration = (port: number, folder: string, locations: string, maps: string) => `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  keepalive_requests 1000000;
  merge_slashes off;
  sendfile on;
  tcp_nodelay on;
  ${maps}
  server {
    listen 127.0.0.1:${port};
    root ${folder}/root;
    ${locations}
  }
}
`;
