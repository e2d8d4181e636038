/** Whether a webhook or an e-mail address gets anything, and why not. */
import type { Webhook } from "@millrace/contract";
import { countOf } from "../look/amount.ts";
import { Status } from "../look/status.tsx";

type State = Pick<Webhook, "enabled" | "disabled_reason" | "failures" | "waiting">;

export function ReceiverState({ state: { enabled, disabled_reason, failures, waiting } }: { state: State }) {
  if (!enabled) return <Status status="PAUSED" word={disabled_reason ?? "Disabled"} />;
  if (failures > 0) return <Status status="FAILED" word={`${countOf(failures, "failure")} in a row`} />;
  return <Status status="COMPLETE" word={waiting > 0 ? `Enabled, ${waiting} waiting` : "Enabled"} />;
}
