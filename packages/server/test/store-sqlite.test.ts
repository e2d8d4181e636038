import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../src/store/open-store.ts";
import { storeConformance } from "./store-conformance.ts";

storeConformance("SQLite", async () => {
  const root = await mkdtemp(join(tmpdir(), "millrace-store-"));
  return {
    async open(name) {
      const dataDir = join(root, name);
      await mkdir(dataDir, { recursive: true });
      return openStore({ dataDir, databaseUrl: "" });
    },
    stop: () => rm(root, { recursive: true }),
  };
});
