/** The options of a cluster: those that differ from the defaults, and fields for all of them. */
import { defaultOptions, type EngineKindName, engineKinds, type ManagedCluster } from "@millrace/contract";
import { Check, Choice, TextArea, TextField } from "../look/field.tsx";

/** The parts of an option's schema that a field needs. */
interface OptionSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
}

export const isKind = (engine: string): engine is EngineKindName => engine in engineKinds;

const schemasOf = (engine: EngineKindName) =>
  engineKinds[engine].options.properties as Readonly<Record<string, OptionSchema>>;

/** What the contract says about an option or a secret, as a hint below its field. */
export const hintOf = ({ description = "" }: { readonly description?: string }) =>
  description.charAt(0).toUpperCase() + description.slice(1).replaceAll("`", "");

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

const shown = (value: unknown) => (typeof value === "string" ? value || "empty" : JSON.stringify(value));

/** Options that an administrator has set. */
export function ClusterOptions({ cluster: { engine, options } }: { cluster: ManagedCluster }) {
  const usual = isKind(engine) ? defaultOptions(engine) : {};
  const own = Object.entries(options).filter(([name, value]) => !isSame(value, usual[name]));
  if (own.length === 0) return <p className="small soft">All options have their defaults.</p>;
  return (
    <dl className="facts">
      {own.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="mono">{name}</dt>
          <dd className="mono wrapped">{shown(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Options as they are typed. Everything but texts, numbers and switches is JSON. */
export type TypedOptions = Readonly<Record<string, string | boolean>>;

const isPlain = ({ type = "" }: OptionSchema) => ["string", "integer", "number"].includes(type);

export const typedOptions = (engine: EngineKindName, options: Readonly<Record<string, unknown>>): TypedOptions =>
  Object.fromEntries(
    Object.entries(schemasOf(engine)).map(([name, schema]) => {
      const value = options[name];
      if (typeof value === "boolean") return [name, value];
      return [name, isPlain(schema) ? String(value ?? "") : JSON.stringify(value)];
    }),
  );

/** Returns the options that differ from `before`, and the names of those that cannot be read. */
export function changedOptions(engine: EngineKindName, typed: TypedOptions, before: Readonly<Record<string, unknown>>) {
  const changed: Record<string, unknown> = {};
  const unreadable: string[] = [];
  for (const [name, schema] of Object.entries(schemasOf(engine))) {
    try {
      const value = optionOf(schema, typed[name] ?? "", defaultOptions(engine)[name]);
      if (!isSame(value, before[name])) changed[name] = value;
    } catch {
      unreadable.push(name);
    }
  }
  return { changed, unreadable };
}

/** What was typed as the API takes it. An empty field that is not a text means the default. */
function optionOf(schema: OptionSchema, typed: string | boolean, usual: unknown): unknown {
  if (typeof typed === "boolean" || schema.type === "string") return typed;
  if (typed.trim() === "") return usual;
  return isPlain(schema) ? Number(typed) : JSON.parse(typed);
}

interface FieldsProps {
  readonly engine: EngineKindName;
  readonly typed: TypedOptions;
  readonly unreadable: readonly string[];
  readonly onChange: (typed: TypedOptions) => void;
}

export const OptionFields = ({ engine, typed, unreadable, onChange }: FieldsProps) => (
  <div className="settings-columns">
    {Object.entries(schemasOf(engine)).map(([name, schema]) => (
      <OptionField
        key={name}
        name={name}
        schema={schema}
        value={typed[name] ?? ""}
        error={unreadable.includes(name) ? "This is not JSON" : undefined}
        onChange={(value) => onChange({ ...typed, [name]: value })}
      />
    ))}
  </div>
);

interface FieldProps {
  readonly name: string;
  readonly schema: OptionSchema;
  readonly value: string | boolean;
  readonly error: string | undefined;
  readonly onChange: (value: string | boolean) => void;
}

function OptionField({ name, schema, value, error, onChange }: FieldProps) {
  const hint = hintOf(schema);
  if (typeof value === "boolean")
    return (
      <Check
        label={
          <>
            <span className="mono">{name}</span> <span className="small soft">{hint}</span>
          </>
        }
        checked={value}
        onCheck={onChange}
      />
    );
  if (schema.enum)
    return (
      <Choice label={name} name={name} hint={hint} value={value} onText={onChange}>
        {schema.enum.map((one) => (
          <option key={one} value={one}>
            {one || "the engine's own rule"}
          </option>
        ))}
      </Choice>
    );
  if (!isPlain(schema))
    return (
      <TextArea
        {...{ label: name, name, hint: `${hint}. As JSON.`, value, error, onText: onChange }}
        className="mono"
        rows={2}
        spellCheck={false}
      />
    );
  const isNumber = schema.type !== "string";
  return (
    <TextField
      {...{ label: name, name, hint, value, onText: onChange }}
      type={isNumber ? "number" : "text"}
      step={schema.type === "integer" ? 1 : "any"}
      spellCheck={false}
      autoCapitalize="none"
    />
  );
}
