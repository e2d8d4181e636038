/** Fields of forms: a label, a control, and a hint below it. */
import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useContext,
  useId,
} from "react";
import "./field.css";
import { errorOf } from "./field-errors.ts";
import { FormError } from "./form-error.ts";

interface Labelled {
  readonly label: string;
  readonly hint?: ReactNode;
  /** Why the value is refused. A field with the name that the API has for it finds this in the error of its form. */
  readonly error?: string | undefined;
}

/** Returns what is wrong with the value: what the caller says, or what the server said about the field of this name. */
function useFieldError(error: string | undefined, name: string | undefined): string | undefined {
  const submitted = useContext(FormError);
  return error ?? (name === undefined ? undefined : errorOf(submitted, name));
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
  error: given,
  onText,
  ...rest
}: Labelled & InputHTMLAttributes<HTMLInputElement> & { onText?: (text: string) => void }) {
  const id = useId();
  const error = useFieldError(given, rest.name);
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
  error: given,
  onText,
  ...rest
}: Labelled & TextareaHTMLAttributes<HTMLTextAreaElement> & { onText?: (text: string) => void }) {
  const id = useId();
  const error = useFieldError(given, rest.name);
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
  error: given,
  onText,
  children,
  ...rest
}: Labelled & SelectHTMLAttributes<HTMLSelectElement> & { onText?: (text: string) => void }) {
  const id = useId();
  const error = useFieldError(given, rest.name);
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
