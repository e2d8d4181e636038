/**
 * A form: its fields, the error of the last submission, and its button. What was typed stays after an error. An error
 * about a field stands beside the field.
 */
import { type ReactNode, useRef } from "react";
import { Button } from "./button.tsx";
import { fieldOf } from "./field-errors.ts";
import { FormError } from "./form-error.ts";
import { Problem } from "./states.tsx";

interface FormProps {
  /** The words of the button. */
  readonly action: string;
  readonly onSubmit: () => void;
  readonly busy: boolean;
  readonly error: unknown;
  /** Said after a submission that succeeded. */
  readonly done?: string | false | undefined;
  /** Why the form cannot be sent; undefined if it can. */
  readonly refusal?: string | undefined;
  readonly onCancel?: (() => void) | undefined;
  /** False for a form that is not the main thing of its screen. */
  readonly isMain?: boolean;
  readonly children: ReactNode;
}

export function Form({ onSubmit, busy, error, refusal, children, ...foot }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const field = fieldOf(error);
  const isBesideField = field !== undefined && form.current?.elements.namedItem(field) != null;
  return (
    <form
      ref={form}
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy && refusal === undefined) onSubmit();
      }}
    >
      <FormError.Provider value={error}>{children}</FormError.Provider>
      <Problem error={isBesideField ? undefined : error} />
      <Foot busy={busy} refusal={refusal} {...foot} />
      {refusal !== undefined && <p className="small soft">{refusal}</p>}
    </form>
  );
}

type FootProps = Omit<FormProps, "onSubmit" | "error" | "children">;

const Foot = ({ action, busy, refusal, isMain = true, done, onCancel }: FootProps) => (
  <div className="foot row wrap">
    {onCancel && <Button onClick={onCancel}>Cancel</Button>}
    <Button type="submit" kind={isMain ? "main" : "plain"} busy={busy} refusal={refusal}>
      {action}
    </Button>
    {!onCancel && (
      <span role="status" className="good">
        {done || ""}
      </span>
    )}
  </div>
);
