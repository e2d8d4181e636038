/** A row of choices, such as the states of a filter: one of them holds, or several. */
import "./chips.css";
import { StatusShape, type Tone } from "./status.tsx";

interface Option<Value extends string> {
  readonly value: Value;
  readonly title: string;
  /** The shape of a state before the title. */
  readonly tone?: Tone;
  /** How many items the choice has. */
  readonly count?: number;
}

interface ChipsProps<Value extends string> {
  readonly label: string;
  readonly options: readonly Option<Value>[];
  /** The choice that holds, or those that do. */
  readonly value: string | readonly string[];
  readonly onChoose: (value: Value) => void;
}

export const Chips = <Value extends string>({ label, options, value, onChoose }: ChipsProps<Value>) => (
  // biome-ignore lint/a11y/useSemanticElements: a fieldset would look like a form
  <div className="chips row wrap" role="group" aria-label={label}>
    {options.map((option) => (
      <button
        key={option.value}
        type="button"
        className="chip"
        aria-pressed={typeof value === "string" ? option.value === value : value.includes(option.value)}
        onClick={() => onChoose(option.value)}
      >
        {option.tone && <StatusShape tone={option.tone} still />}
        {option.title}
        {option.count !== undefined && <span className="soft">{` ${option.count.toLocaleString("en")}`}</span>}
      </button>
    ))}
  </div>
);
