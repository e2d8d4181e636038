/** The cluster of the server's own machine, as every new store has it. */
export const localCluster = { id: 1, name: "local", engine: "local" } as const;
