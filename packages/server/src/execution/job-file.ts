/** A file that is attached to a job. Its content is on this machine. */
import { chmodSync, copyFileSync, createReadStream, linkSync, rmSync, statSync } from "node:fs";
import type { JobFile } from "../engines/engine.ts";

/** Returns the file at `path` as a job's file. */
export const fileAt = (path: string, name: string): JobFile => ({
  name,
  open: () => createReadStream(path),
  // Synchronous calls are faster than asynchronous ones, and the job cannot start before the file is in place.
  async placeAt(place) {
    rmSync(place, { force: true });
    try {
      // A hard link is enough if every user may read the file. Otherwise it is copied.
      if ((statSync(path).mode & 0o444) !== 0o444) throw new Error("not readable by every user");
      linkSync(path, place);
    } catch {
      copyFileSync(path, place);
      chmodSync(place, 0o444);
    }
  },
});
