/**
 * The package of a Ray job: a ZIP with the files that the job needs on its node. Everybody who can read the job sees
 * its entrypoint and its variables, but of the package only the name. So the code of the runner is in the package.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import type { Placement } from "../runners/placer.ts";

export const readKeeper = (): Promise<string> => readFile(join(import.meta.dirname, "keeper.py"), "utf8");

/** The command that Ray runs in the folder of the unpacked package. */
export const entrypoint = (python: string, folder: string) => `exec ${quote(python)} -I -S keeper.py ${quote(folder)}`;

/** Returns the package. It is named by the attempt: a second package for one attempt replaces the first. */
export function packageOf(keeper: string, { key, runner, variables }: Placement) {
  const files = { "keeper.py": keeper, "runner.py": runner, "variables.json": JSON.stringify(variables) };
  return { name: `_ray_pkg_millrace_${key.replace(".", "_")}.zip`, bytes: zip(files) };
}

/** Midnight of 1 January 1980, the earliest time that a ZIP can name. */
const earliest = 0x0021;

/** Returns a ZIP of these files, uncompressed: they are small, and Ray unpacks them once. */
function zip(files: Readonly<Record<string, string>>): Buffer {
  const entries: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const content = Buffer.from(text);
    const common = commonHeader(name, content);
    const entry = Buffer.concat([signature("PK\u0003\u0004"), common, Buffer.from(name), content]);
    directory.push(directoryEntry(name, common, offset));
    entries.push(entry);
    offset += entry.length;
  }
  return Buffer.concat([...entries, ...directory, directoryEnd(directory, offset)]);
}

const signature = (text: string) => Buffer.from(text, "latin1");

/** The part of the header that an entry and the directory share. */
function commonHeader(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(26);
  header.writeUInt16LE(20, 0);
  header.writeUInt16LE(earliest, 8);
  header.writeUInt32LE(crc32(content), 10);
  header.writeUInt32LE(content.length, 14);
  header.writeUInt32LE(content.length, 18);
  header.writeUInt16LE(name.length, 22);
  return header;
}

function directoryEntry(name: string, common: Buffer, offset: number): Buffer {
  const rest = Buffer.alloc(14);
  rest.writeUInt32LE(offset, 10);
  return Buffer.concat([signature("PK\u0001\u0002"), Buffer.from([20, 0]), common, rest, Buffer.from(name)]);
}

function directoryEnd(directory: readonly Buffer[], offset: number): Buffer {
  const end = Buffer.alloc(18);
  end.writeUInt16LE(directory.length, 4);
  end.writeUInt16LE(directory.length, 6);
  end.writeUInt32LE(Buffer.concat(directory).length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([signature("PK\u0005\u0006"), end]);
}

const quote = (value: string) => `'${value.replaceAll("'", `'\\''`)}'`;
