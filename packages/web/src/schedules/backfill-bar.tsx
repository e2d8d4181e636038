/** The progress of a backfill, by the states of its runs. */
import type { BackfillItem } from "@millrace/contract";
import "./backfills.css";

export function BackfillBar({ backfill }: { backfill: BackfillItem }) {
  const { completed, failed, running, total } = backfill;
  const parts = [
    ["good", completed],
    ["bad", failed],
    ["run", running],
  ] as const;
  const text = [
    `${completed} of ${total} complete`,
    failed > 0 && `${failed} failed`,
    running > 0 && `${running} running`,
  ];
  return (
    <span className="backfill-progress row">
      <span className="backfill-bar" aria-hidden="true">
        {parts.map(([tone, count]) => (
          <span key={tone} className={tone} style={{ width: `${(100 * count) / total}%` }} />
        ))}
      </span>
      <span>{text.filter(Boolean).join(", ")}</span>
    </span>
  );
}
