/**
 * Ports for servers that are stopped and started again. They are below the ephemeral ports, so that no outgoing
 * connection takes one while its server is down.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Returns different ports that are free now. Processes with successive ids begin some ports apart. */
export async function steadyPorts(count: number): Promise<number[]> {
  const probes: Server[] = [];
  const ports: number[] = [];
  for (let offset = process.pid * 7; ports.length < count; offset++) {
    const port = 20_000 + (offset % 12_000);
    const probe = createServer().listen(port, "127.0.0.1");
    const [event] = await Promise.race([once(probe, "listening").then(() => ["free"]), once(probe, "error")]);
    if (event !== "free") continue;
    probes.push(probe);
    ports.push(port);
  }
  for (const probe of probes) probe.close();
  return ports;
}

export const steadyPort = async (): Promise<number> => (await steadyPorts(1))[0] ?? 0;
