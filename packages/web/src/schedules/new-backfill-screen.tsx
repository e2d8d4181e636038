/** Creates a backfill: runs of a pipeline for moments in the past. */
import { backfillLimits, type CreateBackfillInput, routes } from "@millrace/contract";
import { useState } from "react";
import { useLocation } from "wouter";
import { useAction, useApi } from "../api/calls.ts";
import { useDelayed } from "../api/delayed.ts";
import { useRefusal } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { countOf } from "../look/amount.ts";
import { Button, ButtonLink } from "../look/button.tsx";
import { CopyAs } from "../look/copy-as.tsx";
import { Choice, TextField } from "../look/field.tsx";
import { errorOf, otherError } from "../look/field-errors.ts";
import { Screen } from "../look/screen.tsx";
import { messageOf, Problem } from "../look/states.tsx";
import { backfillPath, schedulesPath } from "../paths/schedule-paths.ts";
import { copyNewBackfill } from "./copy-schedule.ts";
import { PipelineField } from "./new-schedule-screen.tsx";
import "./schedules.css";
import { ZoneField } from "./when-fields.tsx";
import { inZone, ownZone } from "./zoned-time.ts";

interface Fields {
  readonly pipeline_name: string;
  readonly from: string;
  readonly to: string;
  readonly every: string;
  readonly timezone: string;
  readonly parallel: string;
  readonly on_failure: "stop" | "continue";
}

const bodyOf = ({ parallel, ...fields }: Fields): CreateBackfillInput => ({
  ...fields,
  parallel: Number(parallel) || 1,
});
const names = ["pipeline_name", "from", "to", "every", "timezone", "parallel"] as const;

export default function NewBackfillScreen() {
  const team = useTeam();
  const [, go] = useLocation();
  const [given] = useUrlState("pipeline");
  const [fields, setFields] = useState<Fields>({
    ...{ pipeline_name: given, from: "", to: "", every: "day", timezone: ownZone, parallel: "1", on_failure: "stop" },
  });
  const create = useAction(routes.createBackfill);
  const submit = () =>
    create.mutate({ body: bodyOf(fields) }, { onSuccess: ({ backfill }) => go(backfillPath(team, backfill.id)) });
  return (
    <Screen title="New backfill">
      <p className="soft">
        A backfill runs copies of a pipeline for a range in the past, such as one for each day of last month.
      </p>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <RangeFields fields={fields} error={create.error} onChange={(some) => setFields({ ...fields, ...some })} />
        <Problem error={otherError(create.error, names)} />
        <div className="row wrap">
          <Button kind="main" type="submit" busy={create.isPending} refusal={useRefusal("editor")}>
            Start the backfill
          </Button>
          <ButtonLink href={schedulesPath(team, "backfills")}>Back to the list</ButtonLink>
          <CopyAs actions={[copyNewBackfill(bodyOf(fields))]} />
        </div>
      </form>
    </Screen>
  );
}

interface RangeProps {
  readonly fields: Fields;
  readonly error: unknown;
  readonly onChange: (changes: Partial<Fields>) => void;
}

function RangeFields({ fields, error, onChange }: RangeProps) {
  const preview = usePreview(fields);
  const problem = (name: keyof Fields) => errorOf(error, name) ?? errorOf(preview.error, name);
  return (
    <div className="when-fields">
      <div className="stack">
        <PipelineField
          value={fields.pipeline_name}
          error={problem("pipeline_name")}
          onText={(pipeline_name) => onChange({ pipeline_name })}
        />
        <div className="form-row">
          <TextField
            label="From"
            required
            placeholder="2026-01-01"
            value={fields.from}
            error={problem("from")}
            onText={(from) => onChange({ from })}
          />
          <TextField
            label="To"
            required
            placeholder="2026-01-31"
            value={fields.to}
            error={problem("to")}
            onText={(to) => onChange({ to })}
          />
        </div>
        <TextField
          label="Every"
          required
          value={fields.every}
          error={problem("every")}
          onText={(every) => onChange({ every })}
          hint="hour, day, week, month, or a cron expression"
        />
        <ZoneField value={fields.timezone} error={problem("timezone")} onText={(timezone) => onChange({ timezone })} />
        <RunFields fields={fields} onChange={onChange} />
      </div>
      <Preview fields={fields} preview={preview} />
    </div>
  );
}

const RunFields = ({ fields, onChange }: Omit<RangeProps, "error">) => (
  <div className="form-row">
    <TextField
      label="Runs at a time"
      type="number"
      min={1}
      max={backfillLimits.parallel}
      value={fields.parallel}
      onText={(parallel) => onChange({ parallel })}
    />
    <Choice
      label="After a failure"
      value={fields.on_failure}
      onText={(on_failure) => onChange({ on_failure: on_failure as Fields["on_failure"] })}
    >
      <option value="stop">Stop</option>
      <option value="continue">Continue with the other runs</option>
    </Choice>
  </div>
);

/** Reads the moments of the typed range. */
function usePreview({ from, to, every, timezone }: Fields) {
  const query = JSON.parse(useDelayed(JSON.stringify({ from, to, every, timezone }))) as Omit<Fields, "pipeline_name">;
  const isWhole = query.from.trim() !== "" && query.to.trim() !== "";
  return useApi(routes.previewBackfill, { query }, { enabled: isWhole });
}

/** Most moments that the preview lists at each end. */
const atEachEnd = 5;

function Preview({ fields, preview }: { fields: Fields; preview: ReturnType<typeof usePreview> }) {
  const isWhole = fields.from.trim() !== "" && fields.to.trim() !== "";
  const { moments = [], timezone = "UTC" } = preview.data ?? {};
  const head = moments.slice(0, moments.length > 2 * atEachEnd ? atEachEnd : moments.length);
  const tail = moments.slice(head.length).slice(-atEachEnd);
  return (
    <section className="card stack tight" aria-label="Preview" aria-live="polite">
      <h2>{isWhole && preview.data ? countOf(moments.length, "run") : "Runs"}</h2>
      {!isWhole && <p className="soft">Type the range to see its runs.</p>}
      {isWhole && preview.data && (
        <ul className="plain-list">
          {head.map((at) => (
            <li key={at}>{inZone(at, timezone)}</li>
          ))}
          {tail.length > 0 && <li className="soft">and {moments.length - head.length - tail.length} more, until</li>}
          {tail.map((at) => (
            <li key={at}>{inZone(at, timezone)}</li>
          ))}
        </ul>
      )}
      {isWhole && !preview.data && preview.error && <p className="soft">{messageOf(preview.error)}</p>}
    </section>
  );
}
