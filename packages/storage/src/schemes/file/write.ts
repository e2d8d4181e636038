/** Writes a file through a temporary file. */
import type { Entry, Upload, WriteCall } from "../../backend.ts";
import { named } from "./errors.ts";
import { checkPath } from "./path.ts";
import { statFile } from "./read.ts";
import { TemporaryFile } from "./temporary-file.ts";

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
  return new FileUpload(await TemporaryFile.open(checkPath(key)), call);
}

/** An upload into a temporary file. Its parts arrive in order, because the backend sets `partsInOrder`. */
class FileUpload implements Upload {
  readonly #file: TemporaryFile;
  readonly #call: WriteCall;

  constructor(file: TemporaryFile, call: WriteCall) {
    this.#file = file;
    this.#call = call;
  }

  async put(_part: number, bytes: Uint8Array): Promise<void> {
    this.#call.signal?.throwIfAborted();
    const { file, handle } = this.#file;
    await named(file, () => handle.writeFile(bytes));
  }

  async finish(): Promise<Entry> {
    await this.#file.takePlace();
    return statFile(this.#file.file, {});
  }

  abort(): Promise<void> {
    return this.#file.giveUp();
  }
}
