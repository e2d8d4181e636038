/** One line of a log. */
import type { ReactNode } from "react";
import { plainOf, type Span, spansOf } from "./ansi.ts";
import { timeOf } from "./line-time.ts";
import type { ShownLine } from "./log-lines.ts";
import { type Progress, progressOf } from "./progress.ts";

interface RowProps {
  /** Number of the line, from 1; undefined while the lines are being counted. */
  readonly number: number | undefined;
  readonly line: ShownLine | undefined;
  readonly withTime: boolean;
  /** Text to mark in the line. */
  readonly find: string;
  readonly mark: "" | "selected" | "hit" | "selected hit";
  readonly onNumber: (number: number) => void;
}

export function LogRow({ number, line, withTime, find, mark, onNumber }: RowProps) {
  const text = line?.text ?? "";
  return (
    <div className={`log-row ${mark}`} data-line={number}>
      {number === undefined ? (
        <span className="log-number" />
      ) : (
        <a
          className="log-number"
          href={`?line=${number}`}
          tabIndex={-1}
          aria-label={`Line ${number}`}
          onClick={(event) => {
            event.preventDefault();
            onNumber(number);
          }}
        >
          {number}
        </a>
      )}
      {withTime && <LineTime line={line} />}
      <span className="log-text">{line === undefined ? "\u00a0" : <Content text={text} find={find} />}</span>
    </div>
  );
}

const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" });

function LineTime({ line }: { line: ShownLine | undefined }) {
  const written = timeOf(plainOf((line?.text ?? "").slice(0, 80)));
  const at = written ?? line?.seen;
  return (
    <time className="log-time" title={written === undefined ? "When this page saw the line" : "Written by the job"}>
      {at === undefined ? "" : timeOfDay.format(at)}
    </time>
  );
}

function Content({ text, find }: { text: string; find: string }) {
  const progress = text.includes("/") ? progressOf(plainOf(text)) : undefined;
  if (progress?.isBar) return <ProgressLine progress={progress} />;
  return (
    <>
      {spansOf(text).map((span, index) => (
        <Piece key={index} span={span} find={find} />
      ))}
      {progress && <Meter progress={progress} />}
    </>
  );
}

function Piece({ span, find }: { span: Span; find: string }) {
  const content = find === "" ? span.text : marked(span.text, find);
  if (span.className === "" && span.color === undefined) return <>{content}</>;
  return (
    <span className={span.className} style={span.color === undefined ? undefined : { color: span.color }}>
      {content}
    </span>
  );
}

/** Marks a text where it occurs, without regard to the case of letters. */
function marked(text: string, find: string): ReactNode[] {
  const [low, wanted] = [text.toLowerCase(), find.toLowerCase()];
  // A few letters change their length with their case; then nothing can be marked at the right place.
  if (low.length !== text.length) return [text];
  const parts: ReactNode[] = [];
  let at = 0;
  for (let next = low.indexOf(wanted); next !== -1 && parts.length < 200; next = low.indexOf(wanted, at)) {
    parts.push(text.slice(at, next), <mark key={next}>{text.slice(next, next + find.length)}</mark>);
    at = next + find.length;
  }
  parts.push(text.slice(at));
  return parts;
}

const share = ({ done, total }: Progress) => Math.max(0, Math.min(1, total === 0 ? 0 : done / total));

const Meter = ({ progress }: { progress: Progress }) => (
  <span className="log-meter" aria-hidden="true">
    <span style={{ width: `${100 * share(progress)}%` }} />
  </span>
);

/** A bar of tqdm, drawn as one. */
export const ProgressLine = ({ progress }: { progress: Progress }) => (
  <span className="log-progress">
    {progress.label !== "" && <span className="cut">{progress.label}</span>}
    <span
      className="log-meter wide"
      role="progressbar"
      aria-label={progress.label || "Progress"}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(100 * share(progress))}
    >
      <span style={{ width: `${100 * share(progress)}%` }} />
    </span>
    <span className="nowrap">{`${Math.floor(100 * share(progress))}%`}</span>
    <span className="nowrap soft">{progress.count}</span>
    {progress.rate !== undefined && <span className="nowrap soft">{progress.rate}</span>}
    {progress.left !== undefined && share(progress) < 1 && (
      <span className="nowrap soft">{`${progress.left} left`}</span>
    )}
  </span>
);
