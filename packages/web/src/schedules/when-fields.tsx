/** Fields for the times of a schedule or task, with the next runs while one types. */
import { routes } from "@millrace/contract";
import { useId } from "react";
import { useApi } from "../api/calls.ts";
import { useDelayed } from "../api/delayed.ts";
import { Chips } from "../look/chips.tsx";
import { TextField } from "../look/field.tsx";
import { errorOf } from "../look/field-errors.ts";
import { messageOf } from "../look/states.tsx";
import { cronInWords } from "./cron-words.ts";
import { NextRuns } from "./next-runs.tsx";
import "./schedules.css";
import { allZones, ownZone } from "./zoned-time.ts";

export interface WhenValues {
  readonly cron_expression: string;
  readonly timezone: string;
  /** Undefined if the form has no such field. */
  readonly start_after?: string;
}

interface WhenFieldsProps {
  readonly values: WhenValues;
  readonly onChange: (changes: Partial<WhenValues>) => void;
  /** The error of the last submission. */
  readonly error: unknown;
}

const usual = [
  { title: "Every hour", value: "@hourly" },
  { title: "Every day at 02:30", value: "30 2 * * *" },
  { title: "Weekdays at 07:00", value: "0 7 * * 1-5" },
  { title: "Mondays at 06:00", value: "0 6 * * 1" },
  { title: "First of the month", value: "0 3 1 * *" },
] as const;

export function WhenFields({ values, onChange, error }: WhenFieldsProps) {
  const preview = usePreview(values);
  const problem = (field: keyof WhenValues) => errorOf(error, field) ?? errorOf(preview.error, field);
  return (
    <div className="when-fields">
      <div className="stack">
        <CronField
          value={values.cron_expression}
          error={problem("cron_expression")}
          onText={(cron_expression) => onChange({ cron_expression })}
        />
        <ZoneField value={values.timezone} error={problem("timezone")} onText={(timezone) => onChange({ timezone })} />
        {values.start_after !== undefined && (
          <TextField
            label="Not before"
            className="mono"
            placeholder="2026-12-01T08:00"
            value={values.start_after}
            error={problem("start_after")}
            onText={(start_after) => onChange({ start_after })}
            hint="Optional. Without cron it is the time of the only run. A time without an offset is in the time zone above."
          />
        )}
      </div>
      <Preview values={values} preview={preview} />
    </div>
  );
}

/** Reads the next runs for the typed times. */
function usePreview({ cron_expression, timezone, start_after = "" }: WhenValues) {
  const typed = JSON.stringify({ cron_expression, timezone, start_after });
  const asked = useDelayed(typed);
  const query = JSON.parse(asked) as WhenValues;
  const hasTime = isTimed(query);
  const preview = useApi(routes.previewSchedule, { query: query as never }, { enabled: hasTime });
  // The runs of before stay until those of the typed times are there.
  return { ...preview, isOld: asked !== typed || preview.isPlaceholderData };
}

const isTimed = ({ cron_expression, start_after = "" }: WhenValues) =>
  cron_expression.trim() !== "" || start_after.trim() !== "";

function Preview({ values, preview }: { values: WhenValues; preview: ReturnType<typeof usePreview> }) {
  const hasTime = isTimed(values);
  const isAtField = (["cron_expression", "timezone", "start_after"] as const).some((field) =>
    errorOf(preview.error, field),
  );
  return (
    <section className="card stack tight" aria-label="Preview" aria-live="polite">
      <h2>Next runs as typed</h2>
      {!hasTime && <p className="soft">Type a cron expression or a time to see the next runs.</p>}
      {hasTime && preview.data && (
        <div className={preview.isOld ? "old-preview" : undefined} aria-busy={preview.isOld || undefined}>
          <NextRuns runs={preview.data.next_runs} timezone={preview.data.timezone} label="Next runs as typed" />
        </div>
      )}
      {hasTime && !preview.data && preview.error && (
        <p className="soft">{isAtField ? "None: see the field that is marked." : messageOf(preview.error)}</p>
      )}
    </section>
  );
}

interface TextProps {
  readonly value: string;
  readonly error: string | undefined;
  readonly onText: (text: string) => void;
}

const CronField = ({ value, error, onText }: TextProps) => (
  <div className="stack tight">
    <TextField
      label="Cron expression"
      className="mono"
      placeholder="30 2 * * *"
      value={value}
      error={value.trim() === "" ? undefined : error}
      onText={onText}
      hint={
        (error === undefined && cronInWords(value)) ||
        "Five fields: minute, hour, day of the month, month, day of the week."
      }
    />
    <Chips label="Common times" options={usual} value={value} onChoose={onText} />
  </div>
);

export function ZoneField({ value, error, onText }: TextProps) {
  const list = useId();
  return (
    <>
      <TextField
        label="Time zone"
        list={list}
        value={value}
        error={error}
        onText={onText}
        hint={`Such as ${ownZone === "UTC" ? "Europe/Berlin" : ownZone}. Daylight saving time is followed.`}
      />
      <datalist id={list}>
        {allZones().map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </>
  );
}
