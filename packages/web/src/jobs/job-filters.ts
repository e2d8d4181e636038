/** The filters of the list of jobs: how the URL says them, and what they mean to the API. */
import { type JobStatus, jobStates, type ListJobsQuery } from "@millrace/contract";

/** The chips: each stands for the states that a person means by the word. */
export const statusChips = {
  waiting: { title: "Waiting", tone: "wait", statuses: [...jobStates.waiting, ...jobStates.draft] },
  running: { title: "Running", tone: "run", statuses: [...jobStates.begun, ...jobStates.canceling] },
  failed: { title: "Failed", tone: "bad", statuses: ["FAILED"] },
  complete: { title: "Complete", tone: "good", statuses: ["COMPLETE"] },
  canceled: { title: "Canceled", tone: "off", statuses: ["CANCELED"] },
  tasks: { title: "Tasks", tone: "wait", statuses: ["TASK"] },
} as const satisfies Record<
  string,
  { title: string; tone: "wait" | "run" | "bad" | "good" | "off"; statuses: readonly JobStatus[] }
>;
export type StatusChip = keyof typeof statusChips;
export const chipNames = Object.keys(statusChips) as StatusChip[];

/** Spans of time that the list offers, in hours. */
const spans = { "1h": 1, "24h": 24, "7d": 168, "30d": 720 } as const;
export const spanTitles = { "1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days", "30d": "Last 30 days" };

/** Parameters of the URL that filter the list. */
export const filterNames = ["status", "q", "by", "tag", "cluster", "name", "since", "from", "to"] as const;
export type FilterName = (typeof filterNames)[number];
export type Filters = Readonly<Record<FilterName, string>>;

export function readFilters(params: URLSearchParams): Filters {
  return Object.fromEntries(filterNames.map((name) => [name, params.get(name) ?? ""])) as Filters;
}

export const isFiltered = (filters: Filters) => filterNames.some((name) => filters[name] !== "");

export const chipsOf = ({ status }: Filters): StatusChip[] => {
  const chosen = words(status);
  return chipNames.filter((chip) => chosen.includes(chip));
};

/** Returns the value of `status` after a click on a chip: the chip is added, or removed if it was chosen. */
export function toggleChip(filters: Filters, chip: StatusChip): string {
  const chosen = chipsOf(filters);
  const after = chosen.includes(chip) ? chosen.filter((other) => other !== chip) : [...chosen, chip];
  return chipNames.filter((name) => after.includes(name)).join(",");
}

/** Words of a text, separated by commas or spaces. */
const words = (text: string) => text.split(/[\s,]+/).filter((word) => word !== "");

/** Returns the query of the API for these filters. States that the URL names itself, such as FAILED, also work. */
export function jobsQuery(filters: Filters, now: number): ListJobsQuery {
  const status = words(filters.status).flatMap((word) => statusChips[word as StatusChip]?.statuses ?? [word]);
  const tag = words(filters.tag);
  const hours = spans[filters.since as keyof typeof spans];
  const after = hours === undefined ? moment(filters.from) : new Date(now - hours * 3_600_000).toISOString();
  const before = moment(filters.to);
  return {
    ...(status.length > 0 ? { status } : {}),
    ...(tag.length > 0 ? { tag } : {}),
    ...text("search", filters.q),
    ...text("created_by", filters.by),
    ...text("cluster", filters.cluster),
    ...text("name", filters.name),
    ...(after === undefined ? {} : { created_after: after }),
    ...(before === undefined ? {} : { created_before: before }),
  };
}

const text = (name: string, value: string) => (value.trim() === "" ? {} : { [name]: value.trim() });

/** Reads a local time as a field of the form has it, such as 2026-01-31T09:00; undefined if it is none. */
function moment(local: string): string | undefined {
  const time = Date.parse(local);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}
