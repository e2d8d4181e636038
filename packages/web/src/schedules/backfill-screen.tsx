/** The page of a backfill: its progress, run by run. Each run is for one moment in the past. */
import { type Backfill, type BackfillMoment, routes } from "@millrace/contract";
import { useState } from "react";
import { Link, useParams } from "wouter";
import { useAction, useApi } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { countOf, countText } from "../look/amount.ts";
import { Button } from "../look/button.tsx";
import { CopyAs } from "../look/copy-as.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { Choice } from "../look/field.tsx";
import { withoutIds } from "../look/reason.ts";
import { Screen } from "../look/screen.tsx";
import { NotRead, Problem } from "../look/states.tsx";
import { Status, toneOf, wordOf } from "../look/status.tsx";
import { Time } from "../look/time.tsx";
import { BackfillBar } from "./backfill-bar.tsx";
import "./backfills.css";
import { pipelinePath } from "../paths/pipeline-paths.ts";
import { schedulesPath } from "../paths/schedule-paths.ts";
import { copyBackfill } from "./copy-schedule.ts";
import { cronInWords } from "./cron-words.ts";
import { inZone } from "./zoned-time.ts";

export default function BackfillScreen() {
  const { id = "" } = useParams();
  const team = useTeam();
  const found = useApi(routes.getBackfill, { query: { backfill_id: Number(id) } });
  // The page of another backfill must not stay while this one is read.
  if (found.data && String(found.data.id) === id) return <BackfillPage backfill={found.data} />;
  return (
    <Screen title="Backfill">
      <NotRead from={found} list={{ href: schedulesPath(team, "backfills"), title: "All backfills" }} />
    </Screen>
  );
}

const BackfillPage = ({ backfill }: { backfill: Backfill }) => (
  <Screen
    title={`Backfill ${backfill.id} of ${backfill.pipeline_name}`}
    tab={`${wordOf(backfill.status)}: backfill of ${backfill.pipeline_name}`}
    beside={<Status status={backfill.status} />}
    actions={
      <>
        <Retry backfill={backfill} />
        <Cancel backfill={backfill} />
        <CopyAs actions={copyBackfill(backfill)} />
      </>
    }
  >
    <Problem error={backfill.last_error} />
    <dl className="facts">
      <dt>Progress</dt>
      <dd>
        <BackfillBar backfill={backfill} />
      </dd>
      <dt>Range</dt>
      <dd>
        {inZone(backfill.from, backfill.timezone)} to {inZone(backfill.to, backfill.timezone)} ({backfill.timezone})
      </dd>
      <dt>Runs</dt>
      <dd>
        {cronInWords(backfill.cron_expression) ?? backfill.cron_expression}, {backfill.total} in all
      </dd>
      <dt>Order</dt>
      <dd>
        {backfill.parallel === 1 ? "One after another" : `Up to ${backfill.parallel} at a time`};{" "}
        {backfill.on_failure === "stop" ? "stops at a failure" : "continues after a failure"}
      </dd>
      <dt>Created</dt>
      <dd>
        <Time at={backfill.created_at} /> by {backfill.created_by}
      </dd>
    </dl>
    <Moments backfill={backfill} />
  </Screen>
);

function Moments({ backfill: { moments, timezone, status: whole } }: { backfill: Backfill }) {
  const [status, setStatus] = useUrlState("status");
  const found = [...new Set(moments.map((moment) => moment.status))];
  const shown = moments.filter((moment) => status === "" || moment.status === status);
  return (
    <section className="stack tight">
      <div className="row wrap apart">
        <h2>Runs</h2>
        <div className="beside">
          <Choice label="Show" value={status} onText={setStatus}>
            <option value="">All ({moments.length})</option>
            {found.map((one) => (
              <option key={one} value={one}>
                {wordIn(whole, one)} ({moments.filter((moment) => moment.status === one).length})
              </option>
            ))}
          </Choice>
        </div>
      </div>
      <ol className="moments" aria-label="Runs">
        {shown.map((moment) => (
          <Moment key={moment.moment} moment={moment} timezone={timezone} word={wordIn(whole, moment.status)} />
        ))}
      </ol>
    </section>
  );
}

/** The word for the state of a run: in a backfill that has ended, nothing waits any more. */
const wordIn = (backfill: Backfill["status"], run: BackfillMoment["status"]) =>
  run === "WAITING" && backfill !== "RUNNING" ? "Not started" : wordOf(run);

function Moment({ moment, timezone, word }: { moment: BackfillMoment; timezone: string; word: string }) {
  const team = useTeam();
  return (
    <li className={toneOf(moment.status) === "bad" ? "failed" : undefined} title={moment.error_message ?? undefined}>
      <time dateTime={moment.moment}>{inZone(moment.moment, timezone)}</time>
      <Status status={moment.status} word={word} />
      {moment.pipeline_name !== null && (
        <Link className="small" href={pipelinePath(team, moment.pipeline_name)}>
          {moment.pipeline_name}
        </Link>
      )}
      {moment.error_message !== null && (
        <span className="small bad moment-error">{withoutIds(moment.error_message)}</span>
      )}
    </li>
  );
}

function Retry({ backfill: { id, status, failed } }: { backfill: Backfill }) {
  const retry = useAction(routes.retryBackfill);
  const role = useRefusal("editor");
  const nothing =
    failed > 0 || status === "FAILED" || status === "CANCELED" ? undefined : "No run has failed or was canceled.";
  return (
    <>
      <Button
        icon="again"
        busy={retry.isPending}
        refusal={role ?? nothing}
        title="Repeats failed and canceled runs, then starts those that have not run"
        onClick={() => retry.mutate({ body: { backfill_id: id } })}
      >
        Retry failed
      </Button>
      <Problem error={retry.error} />
    </>
  );
}

function Cancel({ backfill: { id, status, running, waiting } }: { backfill: Backfill }) {
  const [asks, setAsks] = useState(false);
  const cancel = useAction(routes.cancelBackfill);
  const role = useRefusal("editor");
  const close = () => setAsks(false);
  return (
    <>
      <Button
        kind="danger"
        icon="stop"
        refusal={role ?? (status === "RUNNING" ? undefined : `The backfill is ${wordOf(status).toLowerCase()}.`)}
        onClick={() => setAsks(true)}
      >
        Cancel backfill
      </Button>
      {asks && (
        <AskFirst
          title="Cancel this backfill?"
          action="Cancel the backfill"
          keep="Let it run"
          busy={cancel.isPending}
          error={cancel.error}
          onClose={close}
          onConfirm={() => cancel.mutate({ body: { backfill_id: id } }, { onSuccess: close })}
        >
          <p>
            {countOf(running, "active run")} {running === 1 ? "is" : "are"} canceled, and {countText(waiting)} that{" "}
            {waiting === 1 ? "waits does" : "wait do"} not start. Complete runs stay as they are. You can retry the
            backfill later.
          </p>
        </AskFirst>
      )}
    </>
  );
}
