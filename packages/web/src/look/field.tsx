/** Fields of forms: a label, a control, and a hint below it. */
import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from "react";
import "./field.css";

interface Labelled {
  readonly label: string;
  readonly hint?: ReactNode;
  /** Why the value is refused. */
  readonly error?: string | undefined;
}

function Field({ label, hint, error, id, children }: Labelled & { id: string; children: ReactNode }) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children}
      {hint !== undefined && (
        <div id={`${id}-hint`} className="small soft">
          {hint}
        </div>
      )}
      {error !== undefined && (
        <div id={`${id}-error`} className="small bad" role="alert">
          {error}
        </div>
      )}
    </div>
  );
}

function describedBy(id: string, { hint, error }: Pick<Labelled, "hint" | "error">) {
  const parts = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean);
  return { "aria-describedby": parts.join(" ") || undefined, "aria-invalid": error === undefined ? undefined : true };
}

/** A field of one line. `onText` gets the new value. */
export function TextField({
  label,
  hint,
  error,
  onText,
  ...rest
}: Labelled & InputHTMLAttributes<HTMLInputElement> & { onText?: (text: string) => void }) {
  const id = useId();
  return (
    <Field label={label} hint={hint} error={error} id={id}>
      <input
        {...rest}
        {...describedBy(id, { hint, error })}
        id={id}
        onInput={(event) => onText?.(event.currentTarget.value)}
      />
    </Field>
  );
}

export function TextArea({
  label,
  hint,
  error,
  onText,
  ...rest
}: Labelled & TextareaHTMLAttributes<HTMLTextAreaElement> & { onText?: (text: string) => void }) {
  const id = useId();
  return (
    <Field label={label} hint={hint} error={error} id={id}>
      <textarea
        {...rest}
        {...describedBy(id, { hint, error })}
        id={id}
        onInput={(event) => onText?.(event.currentTarget.value)}
      />
    </Field>
  );
}

export function Choice({
  label,
  hint,
  error,
  onText,
  children,
  ...rest
}: Labelled & SelectHTMLAttributes<HTMLSelectElement> & { onText?: (text: string) => void }) {
  const id = useId();
  return (
    <Field label={label} hint={hint} error={error} id={id}>
      <select
        {...rest}
        {...describedBy(id, { hint, error })}
        id={id}
        onChange={(event) => onText?.(event.currentTarget.value)}
      >
        {children}
      </select>
    </Field>
  );
}

export function Check({
  label,
  onCheck,
  ...rest
}: { label: ReactNode; onCheck?: (checked: boolean) => void } & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <label className="check row">
      <input {...rest} type="checkbox" onChange={(event) => onCheck?.(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}
