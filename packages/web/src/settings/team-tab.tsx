/** The team: what it uses of its quotas, and the defaults of its jobs. */
import { retryLimits, routes, type Team, usualRetryDelay } from "@millrace/contract";
import { useState } from "react";
import { useLocation } from "wouter";
import { useAction, useApi } from "../api/calls.ts";
import { useManageRefusal } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";
import { Read } from "../look/states.tsx";
import { settingsPath } from "../paths/settings-paths.ts";
import { UsageBars } from "./usage-bars.tsx";

export function TeamTab() {
  const team_name = useTeam();
  const team = useApi(routes.getTeam, { params: { team_name } });
  const usage = useApi(routes.getTeamUsage, { params: { team_name } });
  return (
    <div className="settings-columns">
      <section className="card stack">
        <h2>Team</h2>
        <Read from={team}>{(found) => <TeamForm key={found.name} team={found} />}</Read>
      </section>
      <section className="card stack">
        <h2>Space</h2>
        <Read from={usage}>{(found) => <UsageBars usage={found} />}</Read>
        <h2>Limits</h2>
        <Read from={team}>{(found) => <Limits team={found} />}</Read>
        <p className="small soft">Administrators of the server change quotas.</p>
      </section>
    </div>
  );
}

const Limits = ({ team }: { team: Team }) => (
  <dl className="facts">
    {(
      [
        ["Running jobs", team.max_running],
        ["Waiting jobs", team.max_queued],
        ["Waiting tasks", team.max_tasks],
        ["Schedules", team.max_schedules],
      ] as const
    ).map(([name, limit]) => (
      <div key={name} className="contents">
        <dt>{name}</dt>
        <dd>{limit ?? "default of the server"}</dd>
      </div>
    ))}
  </dl>
);

/** A number of a form; 0 if the field is empty, which removes the value. */
const numberOf = (text: string) => (text.trim() === "" ? 0 : Number(text));
const textOf = (value: number | null) => (value === null ? "" : String(value));

function TeamForm({ team }: { team: Team }) {
  const [, go] = useLocation();
  const refusal = useManageRefusal();
  const save = useAction(routes.updateTeam);
  const [name, setName] = useState(team.name);
  const [version, setVersion] = useState(team.library_version ?? "");
  const [timeout, setTimeout] = useState(textOf(team.job_timeout));
  const [retries, setRetries] = useState(textOf(team.job_retries));
  const [delay, setDelay] = useState(textOf(team.job_retry_delay));
  const submit = () =>
    save.mutate(
      {
        params: { team_name: team.name },
        body: {
          library_version: version.trim(),
          job_timeout: numberOf(timeout),
          job_retries: numberOf(retries),
          job_retry_delay: numberOf(delay),
          ...(name === team.name ? {} : { name: name.trim() }),
        },
      },
      { onSuccess: (changed) => changed.name !== team.name && go(settingsPath(changed.name, "team")) },
    );
  return (
    <Form
      action="Save"
      onSubmit={submit}
      busy={save.isPending}
      error={save.error}
      done={save.isSuccess && "Saved"}
      refusal={refusal}
    >
      <TextField
        label="Name of the team"
        name="name"
        value={name}
        onText={setName}
        required
        maxLength={39}
        hint="After a change, links and clients that use the old name stop working."
      />
      <h2>Defaults of its jobs</h2>
      <TextField
        label="Version of datachain"
        name="library_version"
        value={version}
        onText={setVersion}
        placeholder="0.62.0"
        pattern="\d{1,6}\.\d{1,6}\.\d{1,6}"
        hint="For jobs that pin none. Empty: the server's default."
      />
      <TextField
        label="Time limit in seconds"
        name="job_timeout"
        type="number"
        min={0}
        value={timeout}
        onText={setTimeout}
        hint="Jobs that run longer are ended. Empty: no limit."
      />
      <TextField
        label="Retries"
        name="job_retries"
        type="number"
        min={0}
        max={retryLimits.retries}
        value={retries}
        onText={setRetries}
        hint="How often a failed job is tried again. Empty: never."
      />
      <TextField
        label="Seconds before the first retry"
        name="job_retry_delay"
        type="number"
        min={0}
        max={retryLimits.delay}
        hint={`The delay doubles with each retry. Empty: ${usualRetryDelay}.`}
        value={delay}
        onText={setDelay}
      />
    </Form>
  );
}
