/** A row of choices of which one holds, such as the states of a filter. */
import "./chips.css";

interface Option {
  readonly value: string;
  readonly title: string;
  /** How many items the choice has. */
  readonly count?: number;
}

interface ChipsProps {
  readonly label: string;
  readonly options: readonly Option[];
  readonly value: string;
  readonly onChoose: (value: string) => void;
}

export const Chips = ({ label, options, value, onChoose }: ChipsProps) => (
  // biome-ignore lint/a11y/useSemanticElements: a fieldset would look like a form
  <div className="chips row wrap" role="group" aria-label={label}>
    {options.map((option) => (
      <button
        key={option.value}
        type="button"
        className="chip"
        aria-pressed={option.value === value}
        onClick={() => onChoose(option.value)}
      >
        {option.title}
        {option.count !== undefined && <span className="soft">{` ${option.count.toLocaleString("en")}`}</span>}
      </button>
    ))}
  </div>
);
