/**
 * The bridge to fsspec: reading a file through it, compared with a Python process that reads it with fsspec and pipes
 * it to us.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStorage } from "@millrace/storage";
import { pythonProgram, whyNoPythonPackages } from "@millrace/testing/programs/python-packages.ts";
import { compare, inTurns, type Measurement, timed } from "./measure.ts";

const size = 256 * 1024 * 1024;
const rounds = 5;

/** The script times itself, so that its start does not count: the bridge has already started, too. */
const script = `
import sys, time, fsspec
begin = time.perf_counter()
with fsspec.open(sys.argv[1], "rb") as file:
    while piece := file.read(256 * 1024):
        sys.stdout.buffer.write(piece)
sys.stdout.buffer.flush()
sys.stderr.write(str((time.perf_counter() - begin) * 1000))
`;

export async function measureBridge(): Promise<Measurement[]> {
  const missing = await whyNoPythonPackages();
  if (missing) return [];
  const folder = await mkdtemp(join(tmpdir(), "millrace-bench-bridge-"));
  const file = join(folder, "file");
  const environment = { ...process.env, MILLRACE_FSSPEC_PYTHON: pythonProgram("python") };
  const storage = openStorage(`fsspec+local://${folder}`, {}, { environment });
  try {
    await writeFile(file, Buffer.alloc(size, "content"));
    await storage.stat("file");
    const ours = () => timed(() => drain(storage.readStream("file")));
    const [bridge, plain] = await inTurns(rounds, ours, () => pipedByPython(file));
    const sides = { ours: bridge, other: plain, unit: "ms", otherIs: "fsspec, piped" };
    return [compare("read 256 MB through the bridge to fsspec", "<= 3", sides)];
  } finally {
    await storage.close();
    await rm(folder, { recursive: true });
  }
}

async function drain(stream: AsyncIterable<Uint8Array>): Promise<void> {
  let bytes = 0;
  for await (const piece of stream) bytes += piece.length;
  if (bytes !== size) throw new Error(`${bytes} bytes instead of ${size}`);
}

async function pipedByPython(file: string): Promise<number> {
  const child = spawn(pythonProgram("python"), ["-c", script, file], { stdio: ["ignore", "pipe", "pipe"] });
  let told = "";
  child.stderr.on("data", (bytes: Buffer) => {
    told += bytes.toString();
  });
  const ended = once(child, "close");
  await drain(child.stdout);
  await ended;
  return Number(told);
}
