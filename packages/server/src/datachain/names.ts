/** Dataset names and namespaces that the datachain library reserves for internal use. */

/**
 * Beginnings of internal dataset names: storage listings, temporary datasets of a session, and intermediate datasets of
 * a running query.
 */
export const reservedBeginnings = ["lst__", "session_", "ds_query_"] as const;

export const isReserved = (name: string): boolean => reservedBeginnings.some((beginning) => name.startsWith(beginning));

/**
 * Namespaces in which users cannot register datasets. `system` holds storage listings. `local` holds datasets on a
 * client's machine, which clients never request from a server.
 */
export const reservedNamespaces: readonly string[] = ["system", "local"];

/** Whether a registered dataset is internal to the datachain library and hidden from users. */
export const isInternal = ({ namespace, name }: { readonly namespace: string; readonly name: string }): boolean =>
  name.startsWith("session_") || (namespace === "system" && name.startsWith("lst__"));
