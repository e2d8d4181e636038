/**
 * Closes what a test file still has open after its last test: a server whose `before` or `after` failed half-way.
 * Otherwise it would keep the file from ending and hide the failure.
 */
import { after } from "node:test";

type Close = () => Promise<void>;

const open = new Set<Close>();

/** Returns a function that closes it; if nobody calls that, it is called at the end of the file. */
export function closedAtEnd(close: Close): Close {
  const closing = () => {
    open.delete(closing);
    return close();
  };
  open.add(closing);
  return closing;
}

/** Newest first, because it may need earlier ones. What cannot be closed has already failed a test. */
async function closeAll(): Promise<void> {
  for (const close of [...open].reverse()) await close().catch(() => {});
}

// Benchmarks also start servers, and are not tests.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) after(closeAll);
