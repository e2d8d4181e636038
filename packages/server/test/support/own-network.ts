/**
 * Runs a test file in its own network namespace: loopback only, without a route out, with public addresses that lead
 * back here, and with 127.0.0.1 as name server.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Environment variable that is set inside the namespace. */
const mark = "TEST_OWN_NETWORK";

export const isInside = process.env[mark] === "1";

const unshare = ["--mount", "--net", ...(process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"])];

/** Returns false if such a namespace can be created here, otherwise why not. */
export function whyNoOwnNetwork(): string | false {
  try {
    execFileSync("unshare", [...unshare, "ip", "link", "set", "lo", "up"], { stdio: "ignore" });
    return false;
  } catch {
    return "needs unshare and ip, and the right to make namespaces";
  }
}

/** Runs the file inside. Returns its output; rejects with it if one of its tests failed. */
export async function runInside(file: string, folder: string, publicAddresses: readonly string[]): Promise<string> {
  const names = join(folder, "resolv.conf");
  writeFileSync(names, "nameserver 127.0.0.1\n");
  const setUp = [
    "ip link set lo up",
    ...publicAddresses.map((address) => `ip address add ${address} dev lo`),
    `mount --bind ${names} /etc/resolv.conf`,
    'exec "$@"',
  ].join(" && ");
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const words = [...unshare, "sh", "-c", setUp, "sh", process.execPath, ...process.execArgv, file];
  const child = spawn("unshare", words, { env: { ...env, [mark]: "1" }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (bytes: Buffer) => {
      said += bytes.toString();
    });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`it ended with ${code}:\n${said}`);
  return said;
}
