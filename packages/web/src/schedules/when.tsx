/** When a schedule or task is due, in words. */
import { cronInWords } from "./cron-words.ts";
import { inZone } from "./zoned-time.ts";

interface Times {
  readonly cron_expression: string | null;
  readonly start_after: string | null;
  readonly timezone: string;
  readonly trigger_dataset?: string | null;
}

export function whenText({ cron_expression, start_after, timezone, trigger_dataset }: Times): string {
  const times =
    cron_expression !== null
      ? `${cronInWords(cron_expression) ?? cron_expression} (${timezone})`
      : start_after !== null
        ? `Once, at ${inZone(start_after, timezone)} (${timezone})`
        : "";
  const trigger = trigger_dataset == null ? "" : `new versions of ${trigger_dataset}`;
  if (trigger === "") return times;
  return times === "" ? `On ${trigger}` : `${times}, and on ${trigger}`;
}

/** The words; the expression itself is the title. */
export const When = ({ times, className }: { times: Times; className?: string }) => (
  <span className={className} title={times.cron_expression ?? undefined}>
    {whenText(times)}
  </span>
);
