/** The command palette, the keys and "copy as" in a real browser, with the keyboard alone. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { noBrowser, Visit } from "./support/browser.ts";

const team = "/team/main";

describe("keys and commands in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  before(async () => {
    visit = await Visit.begin();
    await visit.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await runJob(visit.client, shell("echo hi", { query_name: "<i>weekly</i> report.sh" }));
    await visit.open(team);
    await visit.sees(/./);
  });
  after(() => visit.end());

  const dialog = () => visit.page.getByRole("dialog");
  const at = async (path: string) => {
    await visit.page.waitForURL((url) => url.pathname === path);
  };
  const openPalette = async () => {
    await visit.page.keyboard.press("Control+k");
    await dialog().getByRole("combobox").waitFor();
  };
  const copied = () => visit.page.evaluate("navigator.clipboard.readText()") as Promise<string>;

  it("g and a letter go to a screen", async () => {
    await visit.page.keyboard.press("g");
    await visit.page.keyboard.press("j");
    await at(`${team}/datasets/jobs`);
    await visit.page.keyboard.press("g");
    await visit.page.keyboard.press("h");
    await at(team);
  });

  it("? shows the keys; Escape closes them", async () => {
    await visit.page.keyboard.press("?");
    await dialog().getByText("Go to Jobs").waitFor();
    await visit.picture("keys");
    await visit.page.keyboard.press("Escape");
    await dialog().waitFor({ state: "detached" });
  });

  it("Ctrl+K opens the palette with the screens, actions and newest jobs", async () => {
    await openPalette();
    await dialog().getByRole("option", { name: "<i>weekly</i> report.sh Complete" }).waitFor();
    await visit.picture("palette");
    await visit.page.keyboard.type("weekly");
    await dialog().getByRole("option", { name: "Home" }).waitFor({ state: "detached" });
    await visit.page.keyboard.press("Enter");
    await visit.sees(/<i>weekly<\/i> report\.sh/);
    assert.match(visit.page.url(), /datasets\/jobs\/[0-9a-f-]{36}$/);
  });

  it("the arrows choose; a text that nothing has says so", async () => {
    await openPalette();
    await visit.page.keyboard.type("theme");
    await visit.page.keyboard.press("ArrowDown");
    await visit.page.keyboard.press("ArrowDown");
    await dialog().locator("[aria-selected=true]", { hasText: "Theme: dark" }).waitFor();
    await visit.page.keyboard.press("Enter");
    assert.equal(await visit.page.evaluate("document.documentElement.dataset.theme"), "dark");
    await openPalette();
    await visit.page.keyboard.type("nothing has this");
    await dialog().getByText("Nothing has this text").waitFor();
    await visit.page.keyboard.press("Escape");
    await openPalette();
    await visit.page.keyboard.type("theme: system");
    await visit.page.keyboard.press("Enter");
  });

  it("keys do nothing while somebody types", async () => {
    await visit.open(`${team}/datasets/jobs`);
    await visit.sees(/report\.sh/);
    await visit.page.keyboard.press("/");
    await visit.page.keyboard.type("gh?n");
    assert.equal(await visit.page.inputValue("input[type=search]"), "gh?n");
    assert.equal(await dialog().count(), 0);
  });

  it("a list is copied as curl, command and Python, with the token as a variable", async () => {
    await visit.open(`${team}/datasets/jobs?status=failed&q=it's`);
    await visit.sees(/No job matches/);
    const menu = visit.page.locator(".copy-as");
    await menu.locator("summary").focus();
    await visit.page.keyboard.press("Enter");
    await visit.page.keyboard.press("Tab");
    await visit.page.keyboard.press("Enter");
    await menu.getByText("Copied as curl").waitFor();
    assert.match(
      await copied(),
      /\$MILLRACE_TOKEN[\s\S]*\/api\/datachain\/jobs\/\?team_name=main&status=FAILED&search=it/,
    );
    await visit.picture("copy-as");
    await menu.getByRole("button", { name: "CLI" }).click();
    await menu.getByText("Copied as CLI").waitFor();
    assert.equal(await copied(), "millrace job ls --status FAILED --search 'it'\\''s' --team main");
    await menu.getByRole("button", { name: "Python" }).click();
    await menu.getByText("Copied as Python").waitFor();
    assert.match(await copied(), /^import os\nimport requests\n/);
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
