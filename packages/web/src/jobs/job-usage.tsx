/** CPU and memory of a job over time. */
import { type Job, type JobUsage, jobStates, routes } from "@millrace/contract";
import { useApi } from "../api/calls.ts";
import { bytes } from "../look/bytes.ts";
import { Read } from "../look/states.tsx";
import { Lines } from "../plots/lines.tsx";
import { roundUpBytes } from "../plots/scale.ts";
import { cpuShares } from "./cpu-shares.ts";

export function JobUsagePlots({ job }: { job: Job }) {
  const usage = useApi(routes.getJobUsage, { params: { job_id: job.id }, query: {} });
  return <Read from={usage}>{(data) => <Plots usage={data} job={job} />}</Read>;
}

function Plots({ usage, job }: { usage: JobUsage; job: Job }) {
  if (usage.samples.length === 0)
    return (
      <p className="soft">
        {(jobStates.final as readonly string[]).includes(job.status)
          ? "The job ended before its first measurement."
          : "CPU and memory appear here once the job runs."}
      </p>
    );
  const memory = usage.samples.map(({ at, memory_bytes }) => ({ at: Date.parse(at), value: memory_bytes }));
  return (
    <div className="stack">
      <section className="stack tight">
        <h3>CPU</h3>
        <Lines
          label="CPU cores in use"
          series={[{ name: "Cores", points: cpuShares(usage.samples) }]}
          format={(value) => `${value.toFixed(value < 10 ? 2 : 0)}`}
        />
      </section>
      <section className="stack tight">
        <h3>Memory</h3>
        <Lines
          label="Memory in use"
          series={[{ name: "Memory", points: memory }]}
          format={bytes}
          round={roundUpBytes}
        />
      </section>
    </div>
  );
}
