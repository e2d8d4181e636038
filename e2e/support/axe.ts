/** Checks pages with axe-core: rules for accessibility that a program can judge. */
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { BrowserContext, Page } from "playwright-core";

const script = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** Loads axe-core into every page that the context opens from now on. */
export const prepareAxe = async (context: BrowserContext): Promise<void> => {
  await context.addInitScript({ path: script });
};

const themes = ["light", "dark"] as const;

/** Returns the violations of a page in both themes, one line for each rule and element. */
export async function violationsOf(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of themes) {
    await page.emulateMedia({ colorScheme });
    const { violations } = (await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")) as Pick<
      AxeResults,
      "violations"
    >;
    for (const { id, help, nodes } of violations)
      for (const { html, failureSummary } of nodes)
        found.push(`${colorScheme} ${id}: ${help}\n    ${html.slice(0, 200)}\n    ${failureSummary}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  return found;
}

/** Waits until a screen shows its content, or why it has none. */
export async function settled(page: Page): Promise<void> {
  await page.waitForSelector("main h1, main [role=alert], main .empty");
  await page.waitForSelector(".loading", { state: "detached" });
}
