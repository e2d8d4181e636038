/** A form: its fields, the error of the last submission, and its button. What was typed stays after an error. */
import type { ReactNode } from "react";
import { Button } from "./button.tsx";
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

export const Form = ({
  action,
  onSubmit,
  busy,
  error,
  done,
  refusal,
  onCancel,
  isMain = true,
  children,
}: FormProps) => (
  <form
    className="stack"
    onSubmit={(event) => {
      event.preventDefault();
      if (!busy && refusal === undefined) onSubmit();
    }}
  >
    {children}
    <Problem error={error} />
    <footer className="row wrap">
      {onCancel && <Button onClick={onCancel}>Cancel</Button>}
      <Button type="submit" kind={isMain ? "main" : "plain"} busy={busy} refusal={refusal}>
        {action}
      </Button>
      {!onCancel && (
        <span role="status" className="good">
          {done || ""}
        </span>
      )}
    </footer>
    {refusal !== undefined && <p className="small soft">{refusal}</p>}
  </form>
);
