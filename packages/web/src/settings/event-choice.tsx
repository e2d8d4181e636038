/** Chooses the events that a webhook or an e-mail address gets. */
import { type ToldEvent, toldEvents } from "@millrace/contract";
import { Check } from "../look/field.tsx";

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
          label={event}
          checked={value.includes(event)}
          onCheck={(checked) => onChange(toldEvents.filter((one) => (one === event ? checked : value.includes(one))))}
        />
      ))}
    </div>
  </fieldset>
);
