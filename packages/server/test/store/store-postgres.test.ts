import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { startPostgres } from "@millrace/testing/servers/postgres.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { storeConformance } from "./store-conformance.ts";

storeConformance("PostgreSQL", async () => {
  const postgres = await startPostgres();
  const databases = new Map<string, Promise<string>>();
  return {
    async open(name) {
      if (!databases.has(name)) databases.set(name, postgres.createDatabase());
      return openStore(storeIn("", (await databases.get(name)) ?? ""));
    },
    stop: () => postgres.stop(),
  };
});
