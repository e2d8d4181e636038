/** A schema as a tree that can be folded. */
import type { DatasetVersion } from "@millrace/contract";
import { countText } from "../look/amount.ts";
import { Empty } from "../look/states.tsx";
import { countFields, type SchemaField, schemaTree } from "./schema-tree.ts";
import "./schema.css";

/** Levels are folded if the schema has more fields than this. */
const openFields = 200;

export function SchemaView({ version }: { version: DatasetVersion }) {
  const fields = schemaTree(version.schema, version.feature_schema);
  const count = countFields(fields);
  if (count === 0)
    return (
      <Empty title="No schema">
        <p>Version {version.version} was registered without a schema.</p>
      </Empty>
    );
  return (
    <section className="card stack tight" aria-label="Schema">
      <p className="soft small">{countText(count)} fields</p>
      <Fields fields={fields} open={count <= openFields} />
    </section>
  );
}

const Fields = ({ fields, open }: { fields: readonly SchemaField[]; open: boolean }) => (
  <ul className="schema">
    {fields.map((field) => (
      <li key={field.name}>
        <Field field={field} open={open} />
      </li>
    ))}
  </ul>
);

function Field({ field, open }: { field: SchemaField; open: boolean }) {
  const line = (
    <>
      <code>{field.name}</code> <span className="soft small">{field.type}</span>
    </>
  );
  if (field.fields.length === 0) return <div className="leaf">{line}</div>;
  return (
    <details open={open}>
      <summary>{line}</summary>
      <Fields fields={field.fields} open={open} />
    </details>
  );
}
