/** The receivers of docs/notifications.md, run as they stand there: what we send is genuine, what others send is not. */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { runJob, shell } from "../../../e2e/support/jobs.ts";
import { type InProcessServer, startInProcess } from "./support/in-process.ts";

const secret = "the-secret-of-the-recipes";

function whyNoPython(): string | false {
  try {
    execFileSync("python3", ["--version"], { stdio: "ignore" });
    return false;
  } catch {
    return "needs python3";
  }
}

describe("the recipe that checks signatures", () => {
  let server: InProcessServer;
  let client: Client;
  let folder: string;
  let page: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-recipes-"));
    page = await readFile(join(import.meta.dirname, "../../../docs/notifications.md"), "utf8");
    server = await startInProcess({ MILLRACE_WEBHOOK_NETWORKS: "127.0.0.1" });
    client = await server.client();
  });
  after(async () => {
    await server.dispose();
    await rm(folder, { recursive: true });
  });

  async function check(language: "python" | "typescript", file: string, command: string, ...flags: string[]) {
    const [, program] = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
    assert.ok(program, `docs/notifications.md has a recipe in ${language}`);
    await writeFile(join(folder, file), program);
    const port = await freePort();
    const child = spawn(command, [...flags, join(folder, file), String(port)], {
      env: { PATH: process.env["PATH"], WEBHOOK_SECRET: secret },
      stdio: ["ignore", "pipe", "ignore"],
    });
    try {
      await assertRecipe(child, `http://127.0.0.1:${port}/`);
    } finally {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  }

  async function assertRecipe(child: ChildProcess, url: string): Promise<void> {
    let said = "";
    child.stdout?.on("data", (bytes: Buffer) => {
      said += bytes.toString();
    });
    await until(() => forged(url).then((status) => status === 401));
    const webhook = await client.call(routes.createWebhook, { body: { url, secret, events: ["job.failure"] } });
    const { job } = await runJob(client, shell("exit 1", { query_name: "größe.sh" }));
    const delivered = async () => {
      const list = await client.call(routes.listDeliveries, { query: { webhook_id: webhook.id } });
      return list.length === 2 && list.every(({ status }) => status === "delivered") ? list : undefined;
    };
    const [failure, ping] = await until(delivered);
    for (const id of [failure?.id, ping?.id]) assert.ok(said.includes(id ?? ""), said);
    assert.ok(said.includes(job.id) && said.includes("größe.sh"), said);
    assert.ok(!said.includes("forged"));
    await client.call(routes.deleteWebhook, { body: { webhook_id: webhook.id } });
  }

  it("takes what we send in Python, and nothing else", { skip: whyNoPython() }, () =>
    check("python", "receiver.py", "python3"),
  );
  it("takes what we send in TypeScript, and nothing else", () =>
    check("typescript", "receiver.mts", process.execPath, "--disable-warning=ExperimentalWarning"));
});

/** What somebody sends who does not know the secret. */
async function forged(url: string): Promise<number> {
  const headers = { "x-datachain-signature-256": `sha256=${"0".repeat(64)}`, "x-millrace-delivery": "forged" };
  return (await fetch(url, { method: "POST", headers, body: '{"forged":true}' })).status;
}

/** The bound is for a test that would otherwise hang. */
async function until<T>(ask: () => Promise<T>): Promise<NonNullable<T>> {
  for (const deadline = Date.now() + 60_000; ; ) {
    const answer = await ask().catch(() => undefined);
    if (answer) return answer;
    assert.ok(Date.now() < deadline, "not within a minute");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}
