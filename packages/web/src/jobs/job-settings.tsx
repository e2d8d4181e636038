/** The settings of a job: where and with what it runs. */
import type { Job } from "@millrace/contract";
import { Fragment } from "react";
import { settingsOf } from "./settings-of.ts";

export const JobSettings = ({ job }: { job: Job }) => (
  <dl className="facts">
    {settingsOf(job).map(([name, value]) => (
      <Fragment key={name}>
        <dt>{name}</dt>
        <dd className={value.includes("\n") ? "mono" : undefined}>
          {value === "" ? (
            <span className="soft">–</span>
          ) : value.includes("\n") ? (
            <pre className="code">{value}</pre>
          ) : (
            value
          )}
        </dd>
      </Fragment>
    ))}
  </dl>
);
