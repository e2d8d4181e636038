/** Writing a file: beside its place first, then into it at once, so that nobody sees half of one. */
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { temporaryKey } from "../../address/tree-path.ts";
import type { Entry, Upload, WriteCall } from "../../backend.ts";
import { named } from "./errors.ts";
import { checkPath } from "./path.ts";
import { statFile } from "./read.ts";

export async function putFile(key: string, bytes: Uint8Array, call: WriteCall): Promise<Entry> {
  const upload = await beginUpload(key, call);
  try {
    await upload.put(1, bytes);
    return await upload.finish();
  } catch (error) {
    await upload.abort();
    throw error;
  }
}

export async function beginUpload(key: string, call: WriteCall): Promise<Upload> {
  call.signal?.throwIfAborted();
  const { temporary, handle } = await named(key, () => openBeside(checkPath(key)));
  return new FileUpload(key, temporary, handle, call);
}

/** A new file in the same folder as another, into whose place it can be moved. */
export interface Beside {
  readonly temporary: string;
  readonly handle: FileHandle;
}

export async function openBeside(file: string): Promise<Beside> {
  await mkdir(dirname(file), { recursive: true });
  const temporary = temporaryKey(file);
  return { temporary, handle: await open(temporary, "wx") };
}

/** Parts come one after the other: `transfer` says so. */
class FileUpload implements Upload {
  readonly #key: string;
  readonly #temporary: string;
  readonly #handle: FileHandle;
  readonly #call: WriteCall;

  constructor(key: string, temporary: string, handle: FileHandle, call: WriteCall) {
    this.#key = key;
    this.#temporary = temporary;
    this.#handle = handle;
    this.#call = call;
  }

  async put(_part: number, bytes: Uint8Array): Promise<void> {
    this.#call.signal?.throwIfAborted();
    await named(this.#key, () => this.#handle.writeFile(bytes));
  }

  async finish(): Promise<Entry> {
    return named(this.#key, async () => {
      await this.#handle.close();
      await rename(this.#temporary, this.#key);
      return statFile(this.#key, {});
    });
  }

  async abort(): Promise<void> {
    await this.#handle.close().catch(() => {});
    await rm(this.#temporary, { force: true });
  }
}
