/** The storage browser in a real browser: folders, pages, credentials, errors. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { noBrowser, Visit } from "./support/browser.ts";

const screen = "/team/main/storage";

describe("storage in a browser", { skip: noBrowser }, () => {
  let visit: Visit;
  let base: string;
  before(async () => {
    base = await mkdtemp(join(tmpdir(), "millrace-storage-"));
    await mkdir(join(base, "cats/100% <b>/deep"), { recursive: true });
    await writeFile(join(base, "cats/100% <b>/tom.jpg"), "x".repeat(1500));
    await mkdir(join(base, "many"));
    for (let n = 0; n < 501; n++) await writeFile(join(base, "many", `${String(n).padStart(3, "0")}.txt`), "");
    await mkdir(join(base, "empty"));
    visit = await Visit.begin({ env: { MILLRACE_JOB_PATHS: base } });
  });
  after(async () => {
    await visit.end();
    await rm(base, { recursive: true, force: true });
  });

  const params = () => new URL(visit.page.url()).searchParams;

  it("begins with what to type, and how to add credentials", async () => {
    await visit.open(screen);
    await visit.sees(/Type a URI[\s\S]*no credentials yet[\s\S]*millrace credentials set aws/);
    await visit.picture("storage-empty");
  });

  it("leads from folder to folder and back; the URI is in the URL", async () => {
    await visit.page.fill("main form input", `file://${base}`);
    await visit.page.keyboard.press("Enter");
    await visit.sees(/cats\/[\s\S]*empty\/[\s\S]*many\//);
    await visit.page.click('main button:text("cats/")');
    await visit.page.click('main button:text("100% <b>/")');
    await visit.sees(/deep\/[\s\S]*tom\.jpg[\s\S]*1\.5 KiB/);
    assert.equal(params().get("uri"), `file://${base}/cats/100% <b>`);
    await visit.page.reload();
    await visit.sees(/tom\.jpg/);
    assert.equal(await visit.page.inputValue("main form input"), `file://${base}/cats/100% <b>`);
    await visit.page.click('main summary:text("Use it in code")');
    await visit.sees(/read_storage\("file:/);
    await visit.picture("storage-folder");
    await visit.page.click('main nav button:text("cats")');
    await visit.misses(/tom\.jpg/);
    await visit.page.goBack();
    await visit.sees(/tom\.jpg/);
  });

  it("shows large folders in pages, and says when a folder is empty", async () => {
    await visit.open(`${screen}?uri=file://${base}/many`);
    await visit.sees(/000\.txt[\s\S]*499\.txt/);
    await visit.page.click('main button:text("Next page")');
    await visit.sees(/500\.txt/);
    await visit.page.click('main button:text("First page")');
    await visit.sees(/000\.txt/);
    await visit.open(`${screen}?uri=file://${base}/empty`);
    await visit.sees(/Nothing here/);
    await visit.picture("storage-nothing");
  });

  it("says what is missing: a folder, a variable of the credentials, an address that is not allowed", async () => {
    await visit.open(`${screen}?uri=file:///etc`);
    await visit.sees(/Not found[\s\S]*no file or folder at file:\/\/\/etc that jobs may use/);
    const set = (name: string, values: Record<string, string>) =>
      visit.client.call(routes.setTeamCredentials, { body: { name, values } });
    await set("half", { AWS_REGION: "us-east-1" });
    const keys = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };
    await set("inside", { ...keys, AWS_ENDPOINT_URL: "http://127.0.0.1:1" });
    await visit.open(`${screen}?uri=s3://bucket`);
    await visit.page.selectOption("main form select", "half");
    await visit.sees(/The credentials half have no AWS_ACCESS_KEY_ID/, 60);
    assert.equal(params().get("credentials"), "half");
    await visit.picture("storage-refused");
    await visit.page.selectOption("main form select", "inside");
    await visit.sees(/127\.0\.0\.1 is a private address[\s\S]*MILLRACE_STORAGE_NETWORKS/, 60);
    // The browser itself writes this line for every answer of 400 and above.
    const own = visit.complaints.filter((line) => !/status of 4\d\d/.test(line));
    visit.complaints.splice(0, visit.complaints.length, ...own);
  });

  it("a viewer is told who may browse", async () => {
    await visit.asMember("viewer", async (page) => {
      await page.goto(`${visit.server.url}${screen}`);
      await page.waitForSelector('main:has-text("You are a viewer of this team; only editors and admins can do this")');
    });
  });

  it("nothing was loaded from elsewhere, and nothing violated the policy", () => visit.assertClean());
});
