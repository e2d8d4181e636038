/** Starts a server as a child process with its own folder, waits until it listens, and stops it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export interface ServerProcess {
  readonly port: number;
  readonly folder: string;
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

interface Command {
  readonly program: string;
  readonly words: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts a server. `command` gets a port and an empty folder for its files, and returns the command line. */
export async function startServer(
  name: string,
  command: (port: number, folder: string) => Command | Promise<Command>,
): Promise<ServerProcess> {
  const folder = await mkdtemp(join(tmpdir(), `millrace-storage-${name}-`));
  const port = await freePort();
  const { program, words, environment } = await command(port, folder);
  const child = spawn(program, words, {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let complaint = "";
  child.stderr?.on("data", (bytes: Buffer) => {
    complaint = (complaint + bytes.toString()).slice(-4000);
  });
  // A test that dies must not leave a server behind.
  const killed = () => child.kill("SIGKILL");
  process.once("exit", killed);
  const stop = async () => {
    process.off("exit", killed);
    await endProcess(child);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await waitForPort(port, child);
  } catch (error) {
    await stop();
    throw new Error(`${name} did not start: ${(error as Error).message} ${complaint}`);
  }
  return { port, folder, pid: child.pid, stop };
}

export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const impatient = setTimeout(() => child.kill("SIGKILL"), 5000);
  await ended;
  clearTimeout(impatient);
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

async function waitForPort(port: number, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 1200; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`it ended with exit code ${child.exitCode}.`);
    if (await answers(port)) return;
    await pause(50);
  }
  throw new Error("it does not listen after a minute.");
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
