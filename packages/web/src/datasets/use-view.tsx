/** How to use a version: in a script, on the command line, as files. */
import { Command } from "../look/copy-button.tsx";
import { fullNameOf } from "../paths/dataset-paths.ts";
import { ExportView } from "./export-view.tsx";
import type { Shown } from "./shown.ts";

/** A script that reads a version. The name is written as a text of Python, whatever it contains. */
const pythonRead = (name: string, version: string) =>
  `import datachain as dc

chain = dc.read_dataset(${JSON.stringify(name)}, version=${JSON.stringify(version)})
chain.show()`;

export function UseView({ dataset, version }: Shown) {
  const name = fullNameOf(dataset);
  return (
    <div className="stack">
      <section className="stack tight">
        <h2>Read it in a script</h2>
        <Command text={pythonRead(name, version.version)} />
      </section>
      <section className="stack tight">
        <h2>Look at it in a terminal</h2>
        <Command text={`millrace dataset show '${name}'`} />
        <Command text={`datachain dataset pull '${name}@v${version.version}'`} />
      </section>
      <ExportView key={version.uuid} dataset={dataset} version={version} />
    </div>
  );
}
