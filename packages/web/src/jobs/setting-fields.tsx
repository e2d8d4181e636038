/** Fields for the settings that jobs and pipelines share: each has one label, hint and control, wherever it is set. */
import { Choice, TextArea, TextField } from "../look/field.tsx";
import { priorities } from "../look/priority.ts";

interface Kind {
  /** The name of the field in the API, if it is another one. */
  readonly name?: string;
  readonly label: string;
  readonly hint: string;
  /** `lines`: of several lines; otherwise the lowest number. Undefined for a text of one line. */
  readonly control?: "lines" | 0 | 1;
}

const kinds = {
  requirements: {
    label: "Requirements",
    hint: "As in a requirements file, one package per line",
    control: "lines",
  },
  environment: { label: "Variables", hint: "NAME=VALUE lines. Secrets belong in credentials", control: "lines" },
  python: { name: "python_version", label: "Python version", hint: "Such as 3.12, or >=3.10,<3.13" },
  repository: { label: "Repository", hint: "Git URL, optionally with @revision" },
  workers: { label: "Slots", hint: "Slots of the cluster that a job occupies", control: 1 },
  timeout: { label: "Time limit in seconds", hint: "Empty: the default of the team. 0: no limit", control: 0 },
  retries: { label: "Retries", hint: "After a failure", control: 0 },
  retryDelay: {
    name: "retry_delay",
    label: "Delay of retries in seconds",
    hint: "Doubles with each retry",
    control: 0,
  },
} as const satisfies Readonly<Record<string, Kind>>;

interface SettingFieldProps {
  readonly of: keyof typeof kinds;
  readonly value: string;
  readonly onText: (text: string) => void;
  /** Instead of the usual hint. */
  readonly hint?: string;
  /** What an empty field means. */
  readonly placeholder?: string;
}

export function SettingField({ of, ...rest }: SettingFieldProps) {
  const { control, name = of, ...texts }: Kind = kinds[of];
  const words = { name, ...texts };
  if (control === "lines") return <TextArea className="mono" spellCheck={false} {...words} {...rest} />;
  return <TextField {...words} {...(control === undefined ? {} : { type: "number", min: control })} {...rest} />;
}

interface PriorityFieldProps {
  readonly value: string;
  readonly onText: (priority: string) => void;
  /** What no choice means; without this one must be chosen. */
  readonly empty?: string;
}

export const PriorityField = ({ value, onText, empty }: PriorityFieldProps) => (
  <Choice label="Priority" value={value} onText={onText}>
    {empty !== undefined && <option value="">{empty}</option>}
    {priorities.map((words, priority) => (
      <option key={words} value={String(priority)}>
        {words}
      </option>
    ))}
  </Choice>
);
