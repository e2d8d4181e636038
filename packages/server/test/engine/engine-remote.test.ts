/** Runs the engine conformance suite on the fake remote engine, found by the kind of its cluster. */
import { Engines } from "../../src/engines/registry.ts";
import { engineConformance } from "./engine-conformance.ts";
import { RemoteEngine } from "./remote/remote-engine.ts";
import { RemoteService } from "./remote/remote-service.ts";

engineConformance("fake remote", async () => {
  const service = await RemoteService.start();
  return {
    open: async ({ claimDelay = "0" } = {}) =>
      new Engines([[2, new RemoteEngine(service.url, Number(claimDelay))]]).of(2),
    processes: service.processes,
    leavesNothing: true,
    killSupervisor: async (key) => service.killRunner(key),
    stop: () => service.stop(),
  };
});
