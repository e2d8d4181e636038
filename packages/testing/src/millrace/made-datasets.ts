/** Writes datasets directly into the store of a real server: lineage without the `datachain` library. */
import type { Client, JobInput } from "@millrace/contract";
import { openStore } from "../../../server/src/store/opening/open-store.ts";
import { type Made, originalJob, recordMade } from "./lineage.ts";
import type { TestServer } from "./server.ts";
import { storeIn } from "./store-in.ts";

export type { Made };

export interface Lineage {
  /** Registers a dataset version, a job with this input as its creator, and `needs` as the inputs of the version. */
  make(
    name: string,
    input: JobInput,
    needs?: readonly (Made | { readonly uri: string })[],
    version?: string,
  ): Promise<Made>;
  close(): Promise<void>;
}

export async function openLineage(server: TestServer, client: Client, databaseUrl = ""): Promise<Lineage> {
  const store = await openStore(storeIn(server.dataDir, databaseUrl));
  return {
    async make(name, input, needs = [], version = "1.0.0") {
      const { id } = await originalJob(client, input);
      return recordMade(store, id, name, { needs, version, at: new Date().toISOString() });
    },
    close: () => store.close(),
  };
}
