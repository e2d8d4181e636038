/** What a team uses of its quotas for space. */
import type { TeamUsage } from "@millrace/contract";
import { bytesText } from "../look/amount.ts";
import { Meter } from "../look/meter.tsx";

const kinds: Readonly<Record<keyof TeamUsage, string>> = {
  datasets: "Datasets",
  uploads: "Uploaded files",
  logs: "Logs of ended jobs",
  texts: "Scripts and settings of jobs",
  exports: "Exports",
  environments: "Virtualenvs",
};

export const UsageBars = ({ usage }: { usage: TeamUsage }) => (
  <>
    {(Object.keys(kinds) as (keyof TeamUsage)[]).map((kind) => (
      <Meter key={kind} label={kinds[kind]} value={usage[kind].bytes} limit={usage[kind].quota} format={bytesText} />
    ))}
  </>
);
