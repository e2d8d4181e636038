/** Values over time, such as the memory of a job. The arrow keys and the pointer move a mark over the points. */
import { type PointerEvent, useState } from "react";
import { Numbers } from "./numbers.tsx";
import "./plots.css";
import { roundUp, thin } from "./scale.ts";

export interface Point {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly value: number;
}

export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
}

interface LinesProps {
  readonly label: string;
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Formats a moment; by default as a time of the day. */
  readonly formatTime?: (at: number) => string;
  readonly height?: number;
  /** Finds the value at which the axis ends. */
  readonly round?: (value: number) => number;
}

const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" });
const timeOfYear = new Intl.DateTimeFormat(undefined, {
  ...{ month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
});
const day = 86_400_000;
const mostPoints = 400;
const mostRows = 200;

export function Lines({ label, series, format, formatTime = (at) => timeOfDay.format(at), ...rest }: LinesProps) {
  const { height = 96, round = roundUp } = rest;
  const drawn = series.map(({ name, points }) => ({ name, points: thin(points, mostPoints) }));
  const frame = frameOf(drawn, round);
  const [mark, setMark] = useState<number>();
  const moments = drawn.reduce<readonly Point[]>(
    (longest, { points }) => (points.length > longest.length ? points : longest),
    [],
  );
  const at = moments[mark ?? moments.length - 1]?.at;
  const words =
    at === undefined
      ? "No values yet"
      : `${mark === undefined ? "Last" : formatTime(at)}: ${wordsAt(drawn, at, format)}`;
  return (
    <figure className="plot" aria-label={label}>
      <div className="plot-body">
        <div className="plot-axis small soft" aria-hidden="true">
          <span>{format(frame.top)}</span>
          <span>{format(0)}</span>
        </div>
        <div
          className="plot-area"
          style={{ height }}
          role="slider"
          tabIndex={0}
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={Math.max(0, moments.length - 1)}
          aria-valuenow={mark ?? Math.max(0, moments.length - 1)}
          aria-valuetext={words}
          onKeyDown={(event) => {
            const to = stepTo(event.key, mark ?? moments.length - 1, moments.length);
            if (to === undefined) return;
            event.preventDefault();
            setMark(to);
          }}
          onPointerMove={(event) => setMark(nearest(event, moments, frame))}
          onPointerLeave={() => setMark(undefined)}
        >
          <Curves series={drawn} frame={frame} mark={mark === undefined ? undefined : at} />
        </div>
        <TimeAxis frame={frame} />
      </div>
      <div className="plot-foot">
        <p className="plot-readout small soft">{words}</p>
        {drawn.length > 1 && <Legend names={drawn.map(({ name }) => name)} />}
        <Numbers
          label={label}
          titles={["Time", ...drawn.map(({ name }) => name)]}
          rows={rowsOf(drawn, format, formatTime)}
        />
      </div>
    </figure>
  );
}

interface Frame {
  readonly from: number;
  readonly to: number;
  readonly top: number;
}

function frameOf(series: readonly Series[], round: (value: number) => number): Frame {
  const points = series.flatMap((one) => one.points);
  return {
    from: points.reduce((least, { at }) => Math.min(least, at), Number.POSITIVE_INFINITY),
    to: points.reduce((most, { at }) => Math.max(most, at), Number.NEGATIVE_INFINITY),
    top: round(points.reduce((most, { value }) => Math.max(most, value), 0)),
  };
}

const xOf = ({ from, to }: Frame, at: number) => (to > from ? (100 * (at - from)) / (to - from) : 50);
const yOf = ({ top }: Frame, value: number) => 100 - (100 * Math.max(0, value)) / top;

/** The lines in a square of 100 by 100 that is stretched to the size of the plot; strokes keep their width. */
const Curves = ({ series, frame, mark }: { series: readonly Series[]; frame: Frame; mark: number | undefined }) => (
  <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
    <path className="plot-grid" d="M0 0H100M0 50H100M0 100H100" />
    {series.map(({ name, points }, index) => (
      <polyline
        key={name}
        className={`plot-line line-${index % 4}`}
        points={points.map(({ at, value }) => `${xOf(frame, at).toFixed(2)},${yOf(frame, value).toFixed(2)}`).join(" ")}
      />
    ))}
    {mark !== undefined && <path className="plot-mark" d={`M${xOf(frame, mark)} 0V100`} />}
  </svg>
);

/** When the plot begins and ends. */
function TimeAxis({ frame: { from, to } }: { frame: Frame }) {
  if (!(to > from)) return null;
  const format = to - from < day ? timeOfDay : timeOfYear;
  return (
    <div className="plot-times row apart small soft" aria-hidden="true">
      <span>{format.format(from)}</span>
      <span>{format.format(to)}</span>
    </div>
  );
}

const Legend = ({ names }: { names: readonly string[] }) => (
  <span className="row small soft">
    {names.map((name, index) => (
      <span key={name} className="row">
        <svg width="14" height="4" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
          <path className={`plot-line line-${index % 4}`} d="M0 50H100" />
        </svg>
        {name}
      </span>
    ))}
  </span>
);

/** The point that a key leads to; undefined for keys that do not move the mark. */
function stepTo(key: string, from: number, count: number): number | undefined {
  const to = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: count - 1 }[key];
  return to === undefined ? undefined : Math.max(0, Math.min(count - 1, to));
}

function nearest(event: PointerEvent<HTMLElement>, points: readonly Point[], frame: Frame): number | undefined {
  const { left, width } = event.currentTarget.getBoundingClientRect();
  const at = frame.from + ((event.clientX - left) / width) * (frame.to - frame.from);
  let best: number | undefined;
  for (const [index, point] of points.entries()) {
    if (best === undefined || Math.abs(point.at - at) < Math.abs((points[best]?.at ?? 0) - at)) best = index;
  }
  return best;
}

/** The last value of a series at or before a moment. */
const valueAt = (points: readonly Point[], at: number) => points.findLast((point) => point.at <= at)?.value;

function wordsAt(series: readonly Series[], at: number, format: (value: number) => string): string {
  return series
    .map(({ name, points }) => {
      const value = valueAt(points, at);
      return `${series.length > 1 ? `${name} ` : ""}${value === undefined ? "–" : format(value)}`;
    })
    .join(", ");
}

function rowsOf(series: readonly Series[], format: (value: number) => string, formatTime: (at: number) => string) {
  const moments = [...new Set(series.flatMap(({ points }) => thin(points, mostRows).map(({ at }) => at)))].sort(
    (a, b) => a - b,
  );
  return moments.map((at) => ({
    key: String(at),
    label: formatTime(at),
    values: series.map(({ points }) => {
      const value = valueAt(points, at);
      return value === undefined ? "–" : format(value);
    }),
  }));
}
