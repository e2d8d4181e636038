/**
 * A reporter for `node --test` that prints what a green run hides, one line each: `empty FILE` for a file that passed
 * without running its tests, `skipped TITLE: REASON` for a skipped test or suite, `todo TITLE: REASON` for a test whose
 * failure would not count.
 *
 * A test file whose process ends early with exit code 0 passes as one test. A complete file sends a summary after all
 * of its tests have ended, so a missing summary reveals an early end.
 */
import { relative, resolve } from "node:path";
import type { TestEvent } from "node:test/reporters";

export default async function* gaps(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  // The runner leaves only the names of test files in its arguments.
  const unproved = new Set(process.argv.slice(1).map((file) => resolve(file)));
  const skipping = new Set<string>();
  for await (const { type, data } of events) {
    // A suite that is skipped as a whole counts no tests, so it is reported here.
    if (type === "test:summary" && data.file && (data.counts.tests > 0 || skipping.has(data.file)))
      unproved.delete(data.file);
    if ((type === "test:pass" || type === "test:fail") && data.todo) yield `todo ${data.name}: ${data.todo}\n`;
    if (type !== "test:pass" || !data.skip) continue;
    if (data.file) skipping.add(data.file);
    yield `skipped ${data.name}: ${data.skip}\n`;
  }
  for (const file of unproved) yield `empty ${relative(process.cwd(), file)}\n`;
}
