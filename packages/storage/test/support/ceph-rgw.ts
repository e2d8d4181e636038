/**
 * Ceph RGW: a real S3 server that supports every key, requester pays and versions, over a single-node cluster in
 * memory. It takes 15 seconds to start, so it is for the long form; scripts/ceph-packages.sh installs it.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { skipUnless } from "@millrace/testing/programs/program.ts";
import { type S3Endpoint, s3Endpoint } from "@millrace/testing/servers/s3-endpoint.ts";
import { endProcess, freePort, startServer } from "@millrace/testing/servers/server-process.ts";

const run = promisify(execFile);

export interface CephServer extends S3Endpoint {
  /** Another user, who owns nothing. */
  readonly stranger: S3Endpoint["config"];
}

const programs = ["ceph-mon", "ceph-mgr", "ceph-osd", "radosgw", "radosgw-admin", "ceph"];

/** False if its programs are installed and the long form is requested, otherwise why not. */
export async function whyNoCephRgw(): Promise<false | string> {
  return skipUnless("Ceph RGW", async () => {
    for (const program of programs) await run(program, ["--version"]);
  });
}

export async function startCephRgw(): Promise<CephServer> {
  const daemons: ChildProcess[] = [];
  const kill = () => daemons.forEach((daemon) => void daemon.kill("SIGKILL"));
  // A test that dies must not leave a server behind.
  process.once("exit", kill);
  const endDaemons = async () => {
    process.off("exit", kill);
    await Promise.all(daemons.map(endProcess));
  };
  try {
    const gateway = await startServer("ceph-rgw", (port, folder) => prepareGateway(port, folder, daemons));
    const config = await makeUser(gateway.folder, gateway.port, "owner");
    const stranger = await makeUser(gateway.folder, gateway.port, "stranger");
    const stop = async () => {
      await gateway.stop();
      await endDaemons();
    };
    return { ...s3Endpoint({ ...gateway, stop }, config), stranger };
  } catch (error) {
    await endDaemons();
    throw error;
  }
}

/**
 * Starts the cluster below the gateway: one monitor, one manager and one OSD, which authenticate with their own keys.
 */
async function prepareGateway(port: number, folder: string, daemons: ChildProcess[]) {
  const cluster = randomUUID();
  const monitor = `127.0.0.1:${await freePort()}`;
  for (const name of ["mon", "mgr", "osd", "rgw", "run"]) await mkdir(join(folder, name));
  const file = join(folder, "ceph.conf");
  await writeFile(file, configuration(folder, cluster, monitor, port));
  const start = (program: string, id: string) => {
    daemons.push(spawn(program, ["-f", "-i", id, "-c", file], { stdio: "ignore" }));
  };
  await makeKeyrings(folder);
  await run("monmaptool", ["--create", "--add", "a", monitor, "--fsid", cluster, join(folder, "monmap")]);
  const map = ["--monmap", join(folder, "monmap"), "--keyring", join(folder, "mon.keyring")];
  await run("ceph-mon", ["--mkfs", "-i", "a", ...map, "-c", file]);
  start("ceph-mon", "a");
  await allow(file, "mgr.x", join(folder, "mgr"), ["mon", "allow profile mgr", "osd", "allow *"]);
  const store = ["mon", "allow profile osd", "mgr", "allow profile osd", "osd", "allow *"];
  await allow(file, "osd.0", join(folder, "osd"), store);
  await allow(file, "client.rgw.a", join(folder, "rgw"), ["mon", "allow rw", "osd", "allow rwx", "mgr", "allow rw"]);
  const disk = randomUUID();
  await run("ceph", ["-c", file, "osd", "new", disk]);
  await run("ceph-osd", ["--mkfs", "-i", "0", "--osd-uuid", disk, "-c", file]);
  start("ceph-osd", "0");
  start("ceph-mgr", "x");
  return { program: "radosgw", words: ["-f", "-n", "client.rgw.a", "-c", file] };
}

async function makeKeyrings(folder: string): Promise<void> {
  const ofMonitor = join(folder, "mon.keyring");
  const ofAdmin = join(folder, "admin.keyring");
  const all = ["mon", "osd", "mgr"].flatMap((kind) => ["--cap", kind, "allow *"]);
  await run("ceph-authtool", ["--create-keyring", ofMonitor, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *"]);
  await run("ceph-authtool", ["--create-keyring", ofAdmin, "--gen-key", "-n", "client.admin", ...all]);
  await run("ceph-authtool", [ofMonitor, "--import-keyring", ofAdmin]);
}

/** The first of these waits until the monitor answers. */
async function allow(file: string, name: string, folder: string, rights: readonly string[]): Promise<void> {
  const words = ["-c", file, "--connect-timeout", "60", "auth", "get-or-create", name, ...rights];
  await run("ceph", [...words, "-o", join(folder, "keyring")]);
}

async function makeUser(folder: string, port: number, name: string): Promise<S3Endpoint["config"]> {
  const keys = { key: `key-of-${name}`, secret: `secret-of-${name}` };
  const user = [`--uid=${name}`, `--display-name=${name}`, `--access-key=${keys.key}`, `--secret-key=${keys.secret}`];
  await run("radosgw-admin", ["-c", join(folder, "ceph.conf"), "user", "create", ...user]);
  return { endpoint_url: `http://127.0.0.1:${port}`, ...keys };
}

const configuration = (folder: string, cluster: string, monitor: string, port: number) => `
[global]
fsid = ${cluster}
mon host = ${monitor}
public addr = 127.0.0.1
run dir = ${folder}/run
crash dir = ${folder}/run
log file = ${folder}/$name.log
admin socket = ${folder}/run/$name.asok
mon data = ${folder}/mon
mgr data = ${folder}/mgr
osd data = ${folder}/osd
rgw data = ${folder}/rgw
keyring = ${folder}/admin.keyring
osd objectstore = memstore
memstore device bytes = ${4 * 1024 ** 3}
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
[mon]
keyring = ${folder}/mon.keyring
[mgr]
keyring = ${folder}/mgr/keyring
[osd]
keyring = ${folder}/osd/keyring
[client.rgw.a]
keyring = ${folder}/rgw/keyring
rgw frontends = beast endpoint=127.0.0.1:${port}
`;
