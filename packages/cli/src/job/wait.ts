/** Says why a job waits, line by line. */
import { type JobWait, waitLimits } from "@millrace/contract";

export function waitLines(wait: JobWait): string[] {
  const { status, reasons, position, until, holders, slots_of_others } = wait;
  if (reasons.length === 0 && position === null) return [`The job does not wait: it is ${status}.`];
  const place =
    position === null || position > waitLimits.ahead ? [] : [`Place in the queue of ${wait.cluster}: ${position}`];
  return [
    ...reasons.map(({ message }) => message),
    ...place,
    ...(until === null ? [] : [`Earliest start: ${until}`]),
    `Slots of ${wait.cluster}: ${wait.slots_busy} of ${wait.slots_total} in use, ${wait.slots_needed} needed`,
    ...holders.map(
      ({ job_id, name, created_by, slots, started_at }) =>
        `  ${job_id}  ${name ?? ""}  ${created_by}  ${slotText(slots)} since ${started_at}`,
    ),
    ...(slots_of_others > 0 ? [`  other teams  ${slotText(slots_of_others)}`] : []),
  ];
}

const slotText = (slots: number) => `${slots} ${slots === 1 ? "slot" : "slots"}`;
