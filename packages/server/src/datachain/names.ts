/** Names of datasets that the library keeps for itself. */

/** They begin the names of listings, of what a session leaves behind, and of what a query keeps while it runs. */
export const reservedBeginnings = ["lst__", "session_", "ds_query_"] as const;

export const isReserved = (name: string): boolean => reservedBeginnings.some((beginning) => name.startsWith(beginning));

/** Listings lie in the first one. The second holds what is local: clients never ask a server for that. */
export const reservedNamespaces: readonly string[] = ["system", "local"];

/** Whether a dataset of the registry is the library's own, and not for people. */
export const isInternal = ({ namespace, name }: { readonly namespace: string; readonly name: string }): boolean =>
  name.startsWith("session_") || (namespace === "system" && name.startsWith("lst__"));
