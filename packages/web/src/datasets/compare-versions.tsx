/** What differs between the version of the page and another one: rows, bytes, schema. */
import { type Dataset, type DatasetVersion, routes } from "@millrace/contract";
import { useApi } from "../api/calls.ts";
import { useUrlState } from "../api/url-state.ts";
import { bytesText, countText } from "../look/amount.ts";
import { Choice } from "../look/field.tsx";
import { Read } from "../look/states.tsx";
import { Table } from "../look/table.tsx";
import { fullNameOf } from "../paths/dataset-paths.ts";
import { type Difference, schemaDifference, schemaTree } from "./schema-tree.ts";
import type { Shown } from "./shown.ts";

export function CompareVersions({ dataset, version }: Shown) {
  const [other, setOther] = useUrlState("compare");
  if (dataset.versions.length < 2) return null;
  return (
    <section className="card stack compare" aria-label="Compare versions">
      <Choice label={`Compare ${version.version} with`} value={other} onText={setOther} className="version-choice">
        <option value="">–</option>
        {dataset.versions.toReversed().map(
          ({ version: number }) =>
            number !== version.version && (
              <option key={number} value={number}>
                {number}
              </option>
            ),
        )}
      </Choice>
      {other !== "" && other !== version.version && <Compared dataset={dataset} version={version} other={other} />}
    </section>
  );
}

/** Both are read by their numbers, because an answer about the whole dataset may lack the schemas of old versions. */
function Compared({ dataset, version, other }: { dataset: Dataset; version: DatasetVersion; other: string }) {
  const read = (number: string) => ({
    query: { name: `${fullNameOf(dataset)}@${number}`, include_removed: true },
  });
  const before = useApi(routes.getDataset, read(other));
  const after = useApi(routes.getDataset, read(version.version));
  return (
    <Read from={before}>
      {(old) => (
        <Read from={after}>
          {(now) => <Differences before={numbered(old, other)} after={numbered(now, version.version)} />}
        </Read>
      )}
    </Read>
  );
}

const numbered = ({ versions }: Dataset, number: string) => versions.find(({ version }) => version === number);

function Differences({ before, after }: Record<"before" | "after", DatasetVersion | undefined>) {
  if (!before || !after) return <p className="soft">There is no such version.</p>;
  const fields = schemaDifference(treeOf(before), treeOf(after));
  return (
    <>
      <dl className="dataset-facts">
        <Amounts title="Rows" before={before.num_objects} after={after.num_objects} text={countText} />
        <Amounts title="Files" before={before.size} after={after.size} text={bytesText} />
      </dl>
      {fields.length === 0 ? <p className="soft">Both have the same schema.</p> : <FieldTable fields={fields} />}
    </>
  );
}

const treeOf = ({ schema, feature_schema }: DatasetVersion) => schemaTree(schema, feature_schema);

interface AmountsProps {
  readonly title: string;
  readonly before: number | null;
  readonly after: number | null;
  readonly text: (amount: number | null) => string;
}

function Amounts({ title, before, after, text }: AmountsProps) {
  const more = (after ?? 0) - (before ?? 0);
  const sign = more > 0 ? "+" : "−";
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        {text(before)} → {text(after)}{" "}
        <span className="soft">
          {before === null || after === null ? "" : more === 0 ? "(no change)" : `(${sign}${text(Math.abs(more))})`}
        </span>
      </dd>
    </div>
  );
}

const FieldTable = ({ fields }: { fields: readonly Difference[] }) => (
  <Table
    label="Differences of the schema"
    items={fields}
    keyOf={({ path }) => path}
    columns={[
      { title: "Change", cell: ({ before, after }) => changeWord(before, after) },
      { title: "Field", wide: true, cell: ({ path }) => <code title={path}>{path}</code> },
      { title: "Before", cell: ({ before }) => before ?? <span className="soft">–</span> },
      { title: "After", cell: ({ after }) => after ?? <span className="soft">–</span> },
    ]}
  />
);

function changeWord(before: string | undefined, after: string | undefined) {
  if (before === undefined) return <span className="good">+ added</span>;
  if (after === undefined) return <span className="bad">− removed</span>;
  return <span className="warn">type changed</span>;
}
