/** How much of a limit is used, as a bar and in words. */
import "./meter.css";

interface MeterProps {
  readonly label: string;
  readonly value: number;
  /** Null if there is no limit. */
  readonly limit: number | null;
  readonly format: (value: number) => string;
}

export function Meter({ label, value, limit, format }: MeterProps) {
  const share = limit ? Math.min(1, value / limit) : 0;
  const tone = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "run";
  return (
    <div className="meter">
      <div className="row apart">
        <span>{label}</span>
        <span className="number">
          {format(value)} <span className="soft">{limit === null ? "no limit" : `of ${format(limit)}`}</span>
        </span>
      </div>
      <svg className={`meter-bar ${tone}`} height="6" width="100%" aria-hidden="true">
        <rect className="meter-all" width="100%" height="6" rx="3" />
        {value > 0 && limit !== null && <rect className="meter-used" width={`${share * 100}%`} height="6" rx="3" />}
      </svg>
    </div>
  );
}
