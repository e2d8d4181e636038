/** The command of the command line that lists the same jobs. */
import type { ListJobsQuery } from "@millrace/contract";
import { shellWord } from "../look/request-code.ts";

export function listCommand(team: string, query: ListJobsQuery): string {
  const flags: [string, string | undefined][] = [
    ["status", query.status?.join(",")],
    ["search", query.search],
    ["created-by", query.created_by],
    ["name", query.name],
    ["cluster", query.cluster],
    ["since", query.created_after],
    ["until", query.created_before],
    ["team", team],
  ];
  const words = flags.flatMap(([flag, value]) => (value === undefined ? [] : [`--${flag} ${shellWord(value)}`]));
  const tags = query.tag === undefined ? [] : [`--tag ${query.tag.map(shellWord).join(" ")}`];
  return ["millrace job ls", ...tags, ...words].join(" ");
}
