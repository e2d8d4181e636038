/** What is known about a dataset and one of its versions, in a few lines. */
import { versionStatus } from "@millrace/contract";
import type { ReactNode } from "react";
import { countText, filesText } from "../look/amount.ts";
import { Time } from "../look/time.tsx";
import { JobLink } from "./job-link.tsx";
import type { Shown } from "./shown.ts";

export const DatasetFacts = ({ dataset, version }: Shown) => (
  <div className="stack tight">
    {dataset.description && <p className="dataset-description">{dataset.description}</p>}
    {version.status === versionStatus.removed && (
      <p className="warn">
        Version {version.version} was removed <Time at={version.removed_at} />. Its rows no longer exist.
      </p>
    )}
    <dl className="dataset-facts">
      <Fact title="Rows">{countText(version.num_objects)}</Fact>
      <Fact title="Files">{filesText(version.size)}</Fact>
      <Fact title="Created">
        <Time at={version.created_at} />
      </Fact>
      <Fact title="Made by">
        {version.job_id === null ? (
          <span className="soft">saved outside of a job</span>
        ) : (
          <JobLink id={version.job_id} />
        )}
      </Fact>
      {dataset.attrs.length > 0 && (
        <Fact title="Attributes">
          <span className="row wrap">
            {dataset.attrs.map((attribute) => (
              <code key={attribute} className="attribute">
                {attribute}
              </code>
            ))}
          </span>
        </Fact>
      )}
    </dl>
  </div>
);

const Fact = ({ title, children }: { title: string; children: ReactNode }) => (
  <div>
    <dt>{title}</dt>
    <dd>{children}</dd>
  </div>
);
