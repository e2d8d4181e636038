/** The entry point: opens a storage from a URI and a client_config. */
import type { ClientConfigFor } from "./client-configs.ts";
import { resolveConfiguration } from "./configuration/configuration.ts";
import type { ClientConfig, Environment } from "./configuration/parameters.ts";
import { OpenedStorage } from "./opened-storage.ts";
import { findScheme } from "./registry.ts";
import type { Storage } from "./storage.ts";

export interface OpenOptions {
  /** Environment variables to use instead of those of this process. */
  readonly environment?: Environment;
}

/** Opens a storage. Checks everything that needs no request to the store, and throws at once if something is wrong. */
export function openStorage<Uri extends string>(
  uri: Uri,
  client_config?: ClientConfigFor<Uri>,
  options: OpenOptions = {},
): Storage {
  const scheme = findScheme(uri);
  const location = scheme.parse(uri);
  const environment = options.environment ?? process.env;
  const configuration = resolveConfiguration(
    scheme.names,
    scheme.parameters,
    (client_config ?? {}) as ClientConfig,
    environment,
  );
  scheme.check?.(configuration, location);
  return new OpenedStorage(scheme, location, configuration);
}
