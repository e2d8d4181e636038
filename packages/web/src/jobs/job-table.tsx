/** A table of jobs: the same on every screen that lists jobs. */
import type { Job } from "@millrace/contract";
import { Status } from "../look/status.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time, Took } from "../look/time.tsx";
import { JobName } from "./job-name.tsx";
import { WhyButton, waits } from "./why-queued.tsx";

export const jobColumns: readonly Column<Job>[] = [
  {
    title: "Status",
    cell: (job) => (
      <>
        <Status status={job.status} />
        {waits(job) && <WhyButton job={job} />}
      </>
    ),
  },
  { title: "Name", wide: true, cell: (job) => <JobName job={job} /> },
  { title: "Created by", optional: true, cell: ({ created_by }) => created_by },
  { title: "Created", optional: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { title: "Took", number: true, cell: (job) => <Took from={job.started_at} to={job.finished_at} /> },
];

export const JobTable = ({ jobs, label = "Jobs" }: { jobs: readonly Job[]; label?: string }) => (
  <Table label={label} columns={jobColumns} items={jobs} keyOf={({ id }) => id} />
);
