/**
 * Closes servers that a test file has left open after its last test, because a `before` or `after` failed half-way. An
 * open server would keep the test file from ending and hide the failure.
 */
import { after } from "node:test";

type Close = () => Promise<void>;

const open = new Set<Close>();

/** Returns a function that calls `close`. If the test file does not call it, it is called after the last test. */
export function closedAtEnd(close: Close): Close {
  const closing = () => {
    open.delete(closing);
    return close();
  };
  open.add(closing);
  return closing;
}

/** Closes the newest first, because it may need older ones. Ignores errors: what caused them has failed a test. */
async function closeAll(): Promise<void> {
  for (const close of [...open].reverse()) await close().catch(() => {});
}

// Only in tests: benchmarks also start servers, and close them themselves.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) after(closeAll);
