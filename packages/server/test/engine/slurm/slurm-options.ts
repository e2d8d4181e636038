/** Options of a cluster in tests: the defaults, on a cluster of the test's own. */
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SlurmOptions } from "@millrace/contract";
import type { SlurmCluster } from "@millrace/testing/servers/slurm.ts";

const defaults = Object.fromEntries(
  Object.entries(SlurmOptions.properties).map(([name, schema]) => [name, (schema as { default?: unknown }).default]),
) as unknown as SlurmOptions;

export const slurmOptions = (
  { configuration }: Pick<SlurmCluster, "configuration">,
  given: Partial<SlurmOptions> = {},
): SlurmOptions => ({ ...defaults, slurm_conf: configuration, python: "/usr/bin/python3", ...given });

/** Returns the path of a Python that takes this many seconds to start. */
export function slowPython({ configuration }: Pick<SlurmCluster, "configuration">, seconds: string): string {
  const path = join(dirname(configuration), `python-after-${seconds}`);
  writeFileSync(path, `#!/bin/sh\nsleep ${seconds}\nexec /usr/bin/python3 "$@"\n`, { mode: 0o755 });
  return path;
}

/** A Python that does not start before `open` is called. */
export function gatedPython({ configuration }: Pick<SlurmCluster, "configuration">, name: string) {
  const path = join(dirname(configuration), `python-at-${name}`);
  const wait = `until [ -e ${path}.open ]; do sleep 0.1; done`;
  writeFileSync(path, `#!/bin/sh\n${wait}\nexec /usr/bin/python3 "$@"\n`, { mode: 0o755 });
  return { path, open: () => writeFileSync(`${path}.open`, "") };
}
