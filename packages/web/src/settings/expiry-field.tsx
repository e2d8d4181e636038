/** How long a token or an invitation works. */
import { TextField } from "../look/field.tsx";

interface ExpiryFieldProps {
  /** The typed number of days; empty for no end. */
  readonly days: string;
  readonly onDays: (days: string) => void;
  /** Whether there must be an end. */
  readonly required?: boolean;
}

/** The days as the API takes them. */
export const expiryOf = (days: string) => (days === "" ? null : Number(days));

export const ExpiryField = ({ days, onDays, required = false }: ExpiryFieldProps) => (
  <TextField
    label="Days until it expires"
    name="expires_in_days"
    type="number"
    min={1}
    max={3650}
    required={required}
    value={days}
    onText={onDays}
    hint={required ? undefined : "Empty: it does not expire."}
  />
);
