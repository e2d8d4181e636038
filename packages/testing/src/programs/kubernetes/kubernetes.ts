/** Kubernetes for tests: built from source once, below .cache, with container images from this machine's packages. */
import { execFile, spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { access, mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cache, skipUnless } from "../program.ts";

const run = promisify(execFile);
const version = "1.36.3";
const place = join(cache, `kubernetes-${version}`);

/** One program for all parts of a cluster; its first word names the part. */
export const kubernetesProgram = join(place, "kubernetes");
const imageScript = join(import.meta.dirname, "image.py");
/** File with the images `local.test/pause:1` and `local.test/python:1`. A changed script makes others. */
export const kubernetesImages = join(place, `images-${hash("sha256", readFileSync(imageScript)).slice(0, 8)}.tar`);
export const cniPlugins = "/usr/lib/cni";

/** Returns false if a cluster can be started here, otherwise the reason to skip its tests. */
export const whyNoKubernetes = () => skipUnless(`Kubernetes ${version}`, prepare);

async function prepare(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error("only root can make the namespaces of a node");
  for (const program of ["etcd", "containerd", "runc", "ctr", "ip", "openssl", "dpkg"])
    await run("sh", ["-c", `command -v ${program}`]).catch(() => {
      throw new Error(`${program} is not installed`);
    });
  await access(join(cniPlugins, "bridge"));
  await run("unshare", ["--net", "--mount", "--pid", "--fork", "true"]);
  await build();
  await access(kubernetesImages).catch(makeImages);
}

/** Builds under a lock, which the kernel releases even after a crash. */
async function build(): Promise<void> {
  await mkdir(cache, { recursive: true });
  const words = [`${place}.lock`, "sh", join(import.meta.dirname, "build.sh"), place, version];
  // The script's descriptor 3 is our standard error: the notice appears at once, the compiler's output only on failure.
  const child = spawn("flock", words, { stdio: ["ignore", "ignore", "pipe", 2] });
  let complaint = "";
  child.stderr?.on("data", (bytes: Buffer) => {
    complaint += bytes.toString();
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(complaint.trim().split("\n").at(-1) || `the build ended with ${code}`);
}

async function makeImages(): Promise<void> {
  const part = `${kubernetesImages}.${process.pid}`;
  // Debian's own Python, because only its modules match the files of the packages.
  await run("/usr/bin/python3", [imageScript, part]);
  await rename(part, kubernetesImages);
}
