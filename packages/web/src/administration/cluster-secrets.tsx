/** Fields for the secrets of a cluster. Their values are never shown: a new one replaces the old one. */
import { Check, TextArea } from "../look/field.tsx";
import { hintOf } from "./cluster-options.tsx";

interface SecretProps {
  readonly schema: { readonly properties: Readonly<Record<string, unknown>> };
  /** Names of the secrets that are set. */
  readonly known: readonly string[];
  /** Secrets that change, by name; an empty text removes one. */
  readonly given: Readonly<Record<string, string>>;
  readonly onChange: (given: Readonly<Record<string, string>>) => void;
}

export function SecretFields({ schema, known, given, onChange }: SecretProps) {
  const names = Object.keys(schema.properties);
  if (names.length === 0) return null;
  const without = (name: string) => Object.fromEntries(Object.entries(given).filter(([one]) => one !== name));
  const describe = (name: string) => hintOf(schema.properties[name] as { readonly description?: string });
  return (
    <>
      <h3>Secrets</h3>
      {names.map((name) => (
        <div key={name} className="stack tight">
          <TextArea
            label={name}
            name={`secret-${name}`}
            className="mono"
            rows={2}
            spellCheck={false}
            autoComplete="off"
            value={given[name] ?? ""}
            onText={(text) => onChange(text === "" ? without(name) : { ...given, [name]: text })}
            hint={`${known.includes(name) ? "It is set. Empty: it stays. " : ""}${describe(name)}. It is stored encrypted and never shown.`}
          />
          {known.includes(name) && (
            <Check
              label={`Remove the secret ${name}`}
              checked={given[name] === ""}
              onCheck={(checked) => onChange(checked ? { ...given, [name]: "" } : without(name))}
            />
          )}
        </div>
      ))}
    </>
  );
}
