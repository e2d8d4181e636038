/** Runs the receivers of docs/notifications.md unchanged: they accept our requests and reject forged ones. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { Recipe, type RecipeLanguage, whyNoRecipe } from "@millrace/testing/servers/recipes.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

const secret = "the-secret-of-the-recipes";

describe("the recipe that checks signatures", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess({ MILLRACE_WEBHOOK_NETWORKS: "127.0.0.1" });
    client = await server.client();
  });
  after(() => server.dispose());

  async function check(language: RecipeLanguage): Promise<void> {
    const recipe = await Recipe.start(language, secret);
    try {
      await assertRecipe(recipe);
    } finally {
      await recipe.stop();
    }
  }

  async function assertRecipe(recipe: Recipe): Promise<void> {
    const { url } = recipe;
    await until(() => forged(url).then((status) => status === 401));
    const webhook = await client.call(routes.createWebhook, { body: { url, secret, events: ["job.failure"] } });
    const { job } = await runJob(client, shell("exit 1", { query_name: "größe.sh" }));
    const delivered = async () => {
      const list = await client.call(routes.listDeliveries, { query: { webhook_id: webhook.id } });
      return list.length === 2 && list.every(({ status }) => status === "delivered") ? list : undefined;
    };
    const [failure, ping] = await until(delivered);
    for (const id of [failure?.id, ping?.id]) assert.ok(recipe.said.includes(id ?? ""), recipe.said);
    assert.ok(recipe.said.includes(job.id) && recipe.said.includes("größe.sh"), recipe.said);
    assert.ok(!recipe.said.includes("forged"));
    await client.call(routes.deleteWebhook, { body: { webhook_id: webhook.id } });
  }

  for (const [language, name] of [
    ["python", "Python"],
    ["typescript", "TypeScript"],
  ] as const)
    it(`accepts our requests in ${name}, and nothing else`, { skip: whyNoRecipe(language) }, () => check(language));
});

/** Sends a request as somebody who does not know the secret would. */
async function forged(url: string): Promise<number> {
  const headers = { "x-datachain-signature-256": `sha256=${"0".repeat(64)}`, "x-millrace-delivery": "forged" };
  return (await fetch(url, { method: "POST", headers, body: '{"forged":true}' })).status;
}

/** The limit ends a test that would otherwise hang. */
async function until<T>(ask: () => Promise<T>): Promise<NonNullable<T>> {
  for (const deadline = Date.now() + 60_000; ; ) {
    const answer = await ask().catch(() => undefined);
    if (answer) return answer;
    assert.ok(Date.now() < deadline, "not within a minute");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
