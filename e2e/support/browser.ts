/** A real browser for the tests of the web UI: Debian's Chromium, driven by playwright-core. */
import assert from "node:assert/strict";
import { access, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Client, type Role, routes } from "@millrace/contract";
import { type ServerOptions, TestServer } from "@millrace/testing/millrace/server.ts";
import { repository } from "@millrace/testing/repository.ts";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const executablePath = "/usr/bin/chromium";

/** Why the browser's tests are skipped; false if they run. */
export const noBrowser: false | string = await access(executablePath).then(
  () => false as const,
  () => `no browser at ${executablePath} (Debian's package chromium)`,
);

const args =
  "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

export const launch = (): Promise<Browser> => chromium.launch({ executablePath, args: args.split(" ") });

/** The link of the first start, in two parts: the public URL of the server and the path. */
const signInLink = (output: string) => /(http\S+)(\/auth\/sign-in\?link=\S+)/.exec(output) ?? [];

/** A server, and a browser that is signed in to it as its administrator. */
export class Visit {
  readonly server: TestServer;
  /** The public URL of the server. */
  readonly url: string;
  readonly client: Client;
  readonly browser: Browser;
  readonly context: BrowserContext;
  readonly page: Page;
  /** Origins of everything that the pages requested. */
  readonly origins = new Set<string>();
  /** Errors in the console of the pages. */
  readonly complaints: string[] = [];

  static async begin(options: ServerOptions = {}): Promise<Visit> {
    return Visit.to(await TestServer.start(options));
  }

  /** Visits a server that was started, at its public URL. */
  static async to(server: TestServer): Promise<Visit> {
    const client = await server.client();
    const browser = await launch();
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const visit = new Visit(server, client, browser, context, await context.newPage());
    await visit.page.goto(`${visit.url}${signInLink(server.output)[2]}`);
    return visit;
  }

  private constructor(server: TestServer, client: Client, browser: Browser, context: BrowserContext, page: Page) {
    this.server = server;
    this.url = signInLink(server.output)[1] ?? "";
    this.client = client;
    this.browser = browser;
    this.context = context;
    this.page = page;
    page.on("request", (request) => void this.origins.add(new URL(request.url()).origin));
    page.on("console", (message) => void (message.type() === "error" && this.complaints.push(message.text())));
    page.on("pageerror", (error) => void this.complaints.push(String(error)));
  }

  /** Opens a path of the server. */
  async open(path: string): Promise<void> {
    await this.page.goto(this.url + path);
  }

  /** The text of the main part of the page. */
  async text(): Promise<string> {
    return (await this.page.textContent("main")) ?? "";
  }

  /** Waits until the main part of the page has this text. */
  async sees(text: RegExp, seconds = 60): Promise<void> {
    const deadline = Date.now() + seconds * 1000;
    let seen = "";
    while (Date.now() < deadline) {
      seen = await this.text().catch(() => "");
      if (text.test(seen)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.match(seen, text);
  }

  /** Forgets errors in the console that a test caused on purpose, such as the status of a refused request. */
  expectComplaints(expected: RegExp): void {
    const others = this.complaints.filter((complaint) => !expected.test(complaint));
    this.complaints.splice(0, this.complaints.length, ...others);
  }

  /** Runs with a page in which a new person with this role in the team main is signed in. */
  async asMember(role: Role, run: (page: Page) => Promise<void>): Promise<void> {
    const username = `${role}-${++this.#members}`;
    const password = "correct horse battery";
    await this.client.call(routes.createUser, { body: { username, password } });
    await this.client.call(routes.addMember, { params: { team_name: "main" }, body: { username, role } });
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 800 } });
    try {
      const page = await context.newPage();
      await page.goto(`${this.server.url}/auth/sign-in`);
      await page.fill('[name="username"]', username);
      await page.fill('[name="password"]', password);
      await page.click('form[action="/auth/sign-in"] button');
      await page.waitForURL(/\/team\/main/);
      await run(page);
    } finally {
      await context.close();
    }
  }
  #members = 0;

  /** Waits until the main part of the page no longer has this text. */
  async misses(text: RegExp, seconds = 20): Promise<void> {
    const deadline = Date.now() + seconds * 1000;
    while (text.test(await this.text()) && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 50));
    assert.doesNotMatch(await this.text(), text);
  }

  /** The pages requested nothing from another site, and wrote no error to the console. */
  assertClean(): void {
    assert.deepEqual([...this.origins], [new URL(this.url).origin]);
    assert.deepEqual(this.complaints, []);
  }

  /**
   * Writes pictures of the page, light and dark, wide and narrow, to .cache/screenshots, for people to look at. Fails if
   * the page is wider than the window.
   */
  async picture(name: string): Promise<void> {
    const folder = join(repository, ".cache/screenshots");
    await mkdir(folder, { recursive: true });
    for (const width of [1280, 375]) {
      await this.page.setViewportSize({ width, height: 800 });
      for (const colorScheme of ["light", "dark"] as const) {
        await this.page.emulateMedia({ colorScheme });
        await this.page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
      }
      const wide = (await this.page.evaluate("document.documentElement.scrollWidth")) as number;
      assert.ok(wide <= width, `${name} is ${wide} px wide in a window of ${width}`);
    }
    await this.page.setViewportSize({ width: 1280, height: 800 });
    await this.page.emulateMedia({ colorScheme: "light" });
  }

  async end(): Promise<void> {
    await this.browser.close();
    await this.server.dispose();
  }
}
