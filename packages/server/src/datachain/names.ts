/** Dataset names and namespaces that the datachain library reserves for internal use. */

/** Name prefixes of storage listings, of a session's temporary datasets, and of a running query's intermediate datasets. */
export const reservedBeginnings = ["lst__", "session_", "ds_query_"] as const;

export const isReserved = (name: string): boolean => reservedBeginnings.some((beginning) => name.startsWith(beginning));

/** `system` holds storage listings. `local` holds local datasets, which clients never request from a server. */
export const reservedNamespaces: readonly string[] = ["system", "local"];

/** Whether a registered dataset is internal to the datachain library and hidden from users. */
export const isInternal = ({ namespace, name }: { readonly namespace: string; readonly name: string }): boolean =>
  name.startsWith("session_") || (namespace === "system" && name.startsWith("lst__"));
