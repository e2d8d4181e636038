/**
 * Opens storages for one command. Closes them when the command ends, aborts their work on signals, and explains their
 * errors.
 */
import type { ClientConfig, Storage, StorageError } from "@millrace/storage";
import { CliError, exitCodes } from "../errors.ts";
import { readClientConfig } from "./client-config.ts";
import { isLocal } from "./uri.ts";

type StorageLibrary = typeof import("@millrace/storage");

/**
 * What a storage command needs: the storage library, a function that opens storages, and a signal that aborts their
 * work.
 */
export interface StorageSession {
  readonly library: StorageLibrary;
  /** Aborted on Ctrl-C and other signals. A multipart upload in progress is then aborted, too. */
  readonly signal: AbortSignal;
  open(uri: string, config?: ClientConfig): Storage;
}

export async function withStorage<T>(run: (session: StorageSession) => Promise<T>): Promise<T> {
  const library = await import("@millrace/storage");
  const stop = new AbortController();
  const letGo = listenForSignals(stop);
  const opened: Storage[] = [];
  const open = (uri: string, config: ClientConfig = {}) => {
    const storage = library.openStorage(uri, config);
    opened.push(storage);
    return storage;
  };
  try {
    return await run({ library, signal: stop.signal, open });
  } catch (error) {
    // After a signal, report the stop, because it caused the error.
    stop.signal.throwIfAborted();
    throw library.isStorageError(error) ? explain(error) : error;
  } finally {
    letGo();
    await Promise.all(opened.map((storage) => storage.close()));
  }
}

/**
 * Aborts the command on a signal. A second Ctrl-C exits at once. A second SIGTERM or SIGHUP does not, because the
 * system may send these signals twice, for example when a terminal is closed.
 */
function listenForSignals(stop: AbortController): () => void {
  const interrupt = (_: NodeJS.Signals, number: number) =>
    stop.abort(new CliError("Stopped", { exitCode: exitCodes.signal + number }));
  process.once("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  process.on("SIGHUP", interrupt);
  return () => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.off(signal, interrupt);
  };
}

const advice: Partial<Record<StorageError["code"], string>> = {
  config: "millrace storage explain URI shows every parameter",
  permission: "Pass credentials with --client-config; millrace storage explain URI shows the credentials in use",
  network: "Check endpoint_url: millrace storage explain URI",
  not_found: "Check the spelling of the name; this command does not create buckets",
};

function adviceFor({ code, scheme }: StorageError): string | undefined {
  const isRights = code === "permission" && scheme === "file";
  return isRights ? "Run the command as a user who has permission for this file" : advice[code];
}

const isUsage = (error: StorageError) => error.code === "config" || error.code === "invalid";

function explain(error: StorageError): CliError {
  const request = error.requestId ? ` (request ${error.requestId})` : "";
  return new CliError(error.message + request, {
    next: adviceFor(error),
    exitCode: isUsage(error) ? exitCodes.usage : exitCodes.error,
    cause: error,
  });
}

interface ConfigFlags {
  readonly "client-config": string | undefined;
  readonly "to-client-config": string | undefined;
}

/**
 * Returns the storage parameters of FROM and of TO; none for local files. They come from `--client-config`, or for TO
 * from `--to-client-config` if that flag is given.
 */
export async function configsOf(from: string, to: string, flags: ConfigFlags): Promise<[ClientConfig, ClientConfig]> {
  const both = await readClientConfig(flags["client-config"]);
  const own = flags["to-client-config"] === undefined ? both : await readClientConfig(flags["to-client-config"]);
  return [isLocal(from) ? {} : both, isLocal(to) ? {} : own];
}
