/** The web UI with the keyboard alone: the flows that people do every day. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { createJob, shell, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { type Lineage, openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { until } from "@millrace/testing/until.ts";
import { noBrowser, Visit } from "./support/browser.ts";

/** The words of the element that has the focus: its label, or its text. */
const focused = `(() => {
  const element = document.activeElement;
  const label = element?.getAttribute("aria-label") ?? element?.labels?.[0]?.textContent ?? element?.textContent ?? "";
  return label.trim();
})()`;

/** Whether the focus is seen. Nodes of a graph show it by the stroke of their shape instead of an outline. */
const shows = `document.activeElement instanceof SVGElement || getComputedStyle(document.activeElement).outlineStyle !== "none"`;

describe("the keyboard alone", { skip: noBrowser }, () => {
  let visit: Visit;
  let lineage: Lineage;
  before(async () => {
    visit = await Visit.begin();
    lineage = await openLineage(visit.server, visit.client);
  });
  after(async () => {
    await lineage.close();
    await visit.end();
  });

  const press = (key: string) => visit.page.keyboard.press(key);

  /** Presses the tabulator key until an element with these words has the focus, which must be seen. */
  async function reach(words: RegExp, most = 60): Promise<void> {
    const passed: string[] = [];
    for (let count = 0; count < most; count++) {
      await press("Tab");
      const label = await focusedLabel();
      passed.push(label.slice(0, 40));
      if (!words.test(label)) continue;
      assert.ok(await visit.page.evaluate(shows), `the focus on ${label} is visible`);
      return;
    }
    assert.fail(`${words} is not reached by the keyboard; passed: ${passed.join(" | ")}`);
  }

  const focusedLabel = async () => String(await visit.page.evaluate(focused));

  it("skips the navigation, and opens a job from the list", async () => {
    const { id } = await createJob(visit.client, shell("sleep 600", { query_name: "long.sh" }));
    await waitForStatus(visit.client, id, ["RUNNING"]);
    await visit.open("/team/main/datasets/jobs");
    await visit.sees(/long\.sh/);
    await reach(/^Skip to the content$/);
    await press("Enter");
    await reach(/^long\.sh$/);
    await press("Enter");
    await visit.page.waitForURL(new RegExp(id));
    await visit.page.waitForSelector('h1:text("long.sh")');
  });

  it("cancels a job: the question has the focus on the safe answer, and Escape closes it", async () => {
    await reach(/^Cancel/);
    await press("Enter");
    await visit.page.waitForSelector("dialog");
    await press("Escape");
    await visit.page.waitForSelector("dialog", { state: "detached" });
    // The focus comes back a moment after the dialog has gone.
    await until("the focus where it was", async () => /^Cancel/.test(await focusedLabel()));
    await press("Enter");
    await visit.page.waitForSelector("dialog");
    await until("the focus on the safe answer", async () => !/^(Cancel|Close)/.test(await focusedLabel()));
    await reach(/^Cancel/, 3);
    await press("Enter");
    await visit.sees(/Canceled/);
    // A browser without a window has no keys for its history.
    await visit.page.goBack();
    await visit.page.waitForURL(/jobs$/);
  });

  it("creates a token", async () => {
    await visit.open("/team/main/settings/tokens");
    await visit.sees(/New token/);
    await reach(/^Name/);
    await visit.page.keyboard.type("from the keyboard");
    await press("Enter");
    await visit.sees(/Created the token “from the keyboard”/);
  });

  it("reviews a pipeline and starts it", async () => {
    const raw = await lineage.make("raw", shell("true", { query_name: "raw.sh" }));
    await lineage.make("final", shell("true", { query_name: "final.sh" }), [raw]);
    const trigger = { body: { datasets: ["final"], review: true } };
    const { name } = (await visit.client.call(routes.triggerPipeline, trigger)).pipeline;
    await visit.open("/team/main/pipelines");
    await visit.sees(new RegExp(name));
    await reach(new RegExp(`^${name}`));
    await press("Enter");
    await visit.sees(/Review the 2 jobs/);
    await reach(/raw\.sh/);
    await press("ArrowRight");
    // The focus follows when the graph has been drawn again.
    await until("the focus is on the next job", async () =>
      /final\.sh/.test(String(await visit.page.evaluate(focused))),
    );
    await visit.page.focus("main");
    await reach(/^Start/);
    await press("Enter");
    await until("its end", async () => {
      const now = await visit.client.call(routes.getPipeline, { query: { name } });
      return now.status === "COMPLETED";
    });
  });

  it("creates a schedule and pauses it", async () => {
    const [pipeline] = await visit.client.call(routes.listPipelines, { query: {} });
    await visit.open("/team/main/schedules");
    await reach(/^New schedule$/);
    await press("Enter");
    await visit.sees(/A schedule runs copies/);
    await reach(/^Pipeline$/);
    await visit.page.keyboard.type(pipeline?.name ?? "");
    await reach(/^Name$/);
    await visit.page.keyboard.type("nightly");
    await reach(/^Every day at 02:30$/);
    await press("Enter");
    await visit.sees(/At 02:30 every day/);
    await reach(/^Create the schedule$/);
    await press("Enter");
    await visit.page.waitForURL(/schedules\/\d+$/);
    await visit.sees(/About/);
    await reach(/^Pause$/);
    await press("Enter");
    await visit.page.waitForSelector("dialog");
    await reach(/^Pause$/, 3);
    await press("Enter");
    await visit.sees(/The schedule is paused/);
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
