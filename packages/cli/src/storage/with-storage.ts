/** Storages for the time of a command: opened by URI, closed at its end, stopped by Ctrl-C, their errors explained. */
import type { ClientConfig, Storage, StorageError } from "@millrace/storage";
import { CliError, exitCodes } from "../errors.ts";
import { readClientConfig } from "./client-config.ts";

type StorageLibrary = typeof import("@millrace/storage");

/** What a command works with. */
export interface StorageSession {
  readonly library: StorageLibrary;
  /** Aborted by Ctrl-C: an upload in parts is then taken back. */
  readonly signal: AbortSignal;
  open(uri: string, config?: ClientConfig): Storage;
}

export async function withStorage<T>(run: (session: StorageSession) => Promise<T>): Promise<T> {
  const library = await import("@millrace/storage");
  const stop = new AbortController();
  const interrupt = () => stop.abort(new CliError("Stopped", { exitCode: exitCodes.interrupted }));
  process.once("SIGINT", interrupt);
  const opened: Storage[] = [];
  const open = (uri: string, config: ClientConfig = {}) => {
    const storage = library.openStorage(uri, config);
    opened.push(storage);
    return storage;
  };
  try {
    return await run({ library, signal: stop.signal, open });
  } catch (error) {
    throw library.isStorageError(error) ? explain(error) : error;
  } finally {
    process.off("SIGINT", interrupt);
    await Promise.all(opened.map((storage) => storage.close()));
  }
}

const advice: Partial<Record<StorageError["code"], string>> = {
  config: "millrace storage explain URI shows every parameter",
  permission: "Give credentials with --client-config; millrace storage explain URI shows those in use",
  network: "Look at endpoint_url: millrace storage explain URI",
};

const isUsage = (error: StorageError) => error.code === "config" || error.code === "invalid";

function explain(error: StorageError): CliError {
  const request = error.requestId ? `Request ${error.requestId}` : undefined;
  return new CliError(error.message, {
    why: request,
    next: advice[error.code],
    exitCode: isUsage(error) ? exitCodes.usage : exitCodes.error,
    cause: error,
  });
}

interface ConfigFlags {
  readonly "client-config": string | undefined;
  readonly "to-client-config": string | undefined;
}

const isLocal = (uri: string) => !/^[a-z][a-z0-9+.-]*:\/\//i.test(uri) || /^(file|local):\/\//i.test(uri);

/** Files of this machine take no parameters: what is given is meant for the other side. */
export async function configsOf(from: string, to: string, flags: ConfigFlags): Promise<[ClientConfig, ClientConfig]> {
  const both = await readClientConfig(flags["client-config"]);
  const own = flags["to-client-config"] === undefined ? both : await readClientConfig(flags["to-client-config"]);
  return [isLocal(from) ? {} : both, isLocal(to) ? {} : own];
}
