/** The settings of a job: where and with what it runs. Those that are not set are named in one line. */
import type { Job } from "@millrace/contract";
import { Fragment } from "react";
import "./job.css";
import { settingsOf } from "./settings-of.ts";

export function JobSettings({ job }: { job: Job }) {
  const all = settingsOf(job);
  const set = all.filter(([, value]) => value !== "");
  const unset = all.filter(([, value]) => value === "").map(([name]) => name);
  return (
    <div className="card stack job-settings">
      <dl className="facts">
        {set.map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value.includes("\n") ? <pre className="code">{value}</pre> : value}</dd>
          </Fragment>
        ))}
      </dl>
      {unset.length > 0 && <p className="small soft">{`Not set: ${unset.join(", ")}`}</p>}
    </div>
  );
}
