/** The events that a webhook or an e-mail address gets, in words, and their choice. */
import { type JobStatus, type ToldEvent, toldEvents } from "@millrace/contract";
import { Check } from "../look/field.tsx";

const words: Readonly<Record<ToldEvent, string>> = {
  "job.failure": "A job fails",
  "job.recovery": "A job recovers",
  "pipeline.failure": "A pipeline fails",
  "pipeline.recovery": "A pipeline recovers",
  "schedule.failure": "A schedule fails",
  "schedule.recovery": "A schedule recovers",
  "schedule.skip": "A schedule skips a run",
  "schedule.overdue": "A schedule is overdue",
};

/** What a job does when it gets a state, in the order of its life. */
export const jobSteps: Readonly<Partial<Record<JobStatus, string>>> = {
  PENDING: "waits in its pipeline",
  CREATED: "is accepted",
  SCHEDULED: "gets a cluster",
  QUEUED: "waits for slots",
  INIT: "is prepared",
  RUNNING: "runs",
  COMPLETE: "is complete",
  FAILED: "fails",
  CANCELING: "is being canceled",
  CANCELED: "is canceled",
  TASK: "is created as a task",
};

function eventInWords(event: string): string {
  if (event === "PING") return "Test (PING)";
  const step = jobSteps[event.replace(/^job /, "") as JobStatus];
  return step === undefined ? ((words as Readonly<Record<string, string>>)[event] ?? event) : `A job ${step}`;
}

/** An event in words; the name that the API has for it is the title. */
export const EventName = ({ event }: { event: string }) => <span title={event}>{eventInWords(event)}</span>;

/** Events in a list: `A job fails, a job recovers`. */
export const eventsText = (events: readonly ToldEvent[]) => {
  const text = events.map((event) => words[event].toLowerCase()).join(", ");
  return text.charAt(0).toUpperCase() + text.slice(1);
};

interface EventChoiceProps {
  readonly value: readonly ToldEvent[];
  readonly onChange: (events: ToldEvent[]) => void;
}

export const EventChoice = ({ value, onChange }: EventChoiceProps) => (
  <fieldset className="plain">
    <legend>Events</legend>
    <div className="checks">
      {toldEvents.map((event) => (
        <Check
          key={event}
          label={<EventName event={event} />}
          checked={value.includes(event)}
          onCheck={(checked) => onChange(toldEvents.filter((one) => (one === event ? checked : value.includes(one))))}
        />
      ))}
    </div>
  </fieldset>
);
