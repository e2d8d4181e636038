/**
 * A Millrace server with the fake remote engine beside its local one, and a cluster `away` of that kind.
 * FAKE_ENGINE_URL is the address of the engine.
 */
import { pino } from "pino";
import { startServer } from "../../../src/app/server.ts";
import { readConfig } from "../../../src/configuration/config.ts";
import { RemoteEngine } from "./remote-engine.ts";

const { FAKE_ENGINE_URL = "", ...settings } = process.env;
const log = pino({ level: "info" }, pino.destination({ dest: 2, sync: true }));
const server = await startServer(readConfig({}, settings), log, {
  engines: { fake: async () => new RemoteEngine(FAKE_ENGINE_URL) },
});
const away = { name: "away", engine: "fake", isolation: "none", max_workers: 3, is_active: 1, is_default: 0 } as const;
await server.store.write((db) =>
  db
    .insertInto("clusters")
    .values(away)
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute(),
);
process.stdout.write(`Millrace is ready at ${server.url}\n`);
