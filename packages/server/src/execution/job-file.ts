/** A file that a job takes along, whose content lies on this machine. */
import { chmodSync, copyFileSync, createReadStream, linkSync, rmSync, statSync } from "node:fs";
import type { JobFile } from "../engines/engine.ts";

/** Synchronous, as engines on this machine are: a few small calls, and a job waits for them. */
export const fileAt = (path: string, name: string): JobFile => ({
  name,
  open: () => createReadStream(path),
  async placeAt(place) {
    rmSync(place, { force: true });
    try {
      // A second name for it is enough where everybody may read it.
      if ((statSync(path).mode & 0o444) !== 0o444) throw new Error("not for everybody to read");
      linkSync(path, place);
    } catch {
      copyFileSync(path, place);
      chmodSync(place, 0o444);
    }
  },
});
