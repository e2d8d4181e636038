/**
 * What a test file still has open when its last test has ended is closed: a server whose `before` failed half-way, or whose
 * `after` did. It would otherwise keep the file from ending, and the failure from being told.
 */
import { after } from "node:test";

type Close = () => Promise<void>;

const open = new Set<Close>();

/** Returns what closes it; if nobody calls that, it is called at the end of the file. */
export function closedAtEnd(close: Close): Close {
  const closing = () => {
    open.delete(closing);
    return close();
  };
  open.add(closing);
  return closing;
}

/** The newest first: it may need those before it. Whatever cannot be closed has failed a test already. */
async function closeAll(): Promise<void> {
  for (const close of [...open].reverse()) await close().catch(() => {});
}

// Measurements start servers, too, and are no tests.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) after(closeAll);
