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
}

function Field({ label, hint, id, children }: Labelled & { id: string; children: ReactNode }) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children}
      {hint !== undefined && (
        <div id={`${id}-hint`} className="small soft">
          {hint}
        </div>
      )}
    </div>
  );
}

const describedBy = (id: string, hint: ReactNode) => (hint === undefined ? {} : { "aria-describedby": `${id}-hint` });

/** A field of one line. `onText` gets the new value. */
export function TextField({
  label,
  hint,
  onText,
  ...rest
}: Labelled & InputHTMLAttributes<HTMLInputElement> & { onText?: (text: string) => void }) {
  const id = useId();
  return (
    <Field label={label} hint={hint} id={id}>
      <input {...rest} {...describedBy(id, hint)} id={id} onInput={(event) => onText?.(event.currentTarget.value)} />
    </Field>
  );
}

export function TextArea({
  label,
  hint,
  onText,
  ...rest
}: Labelled & TextareaHTMLAttributes<HTMLTextAreaElement> & { onText?: (text: string) => void }) {
  const id = useId();
  return (
    <Field label={label} hint={hint} id={id}>
      <textarea {...rest} {...describedBy(id, hint)} id={id} onInput={(event) => onText?.(event.currentTarget.value)} />
    </Field>
  );
}

export function Choice({
  label,
  hint,
  onText,
  children,
  ...rest
}: Labelled & SelectHTMLAttributes<HTMLSelectElement> & { onText?: (text: string) => void }) {
  const id = useId();
  return (
    <Field label={label} hint={hint} id={id}>
      <select {...rest} {...describedBy(id, hint)} id={id} onChange={(event) => onText?.(event.currentTarget.value)}>
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
