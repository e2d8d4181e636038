/** A row of bars, such as the durations of recent runs. The arrow keys move between the bars. */
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { Link } from "wouter";
import { Numbers } from "./numbers.tsx";
import "./plots.css";
import { roundUp } from "./scale.ts";

export interface Bar {
  readonly key: string;
  /** Names the bar in the table of numbers, such as the time of a run. */
  readonly label: string;
  readonly value: number;
  readonly tone?: "good" | "bad" | "run" | "wait" | "off" | "warn";
  readonly href?: string;
  /** Says everything about the bar in one line. */
  readonly title: string;
}

interface BarsProps {
  readonly label: string;
  readonly items: readonly Bar[];
  readonly format: (value: number) => string;
  /** What the labels of the bars are, and what their values are: the head of the table of numbers. */
  readonly titles?: readonly [string, string];
  readonly height?: number;
  /** Finds the value at which the axis ends. */
  readonly round?: (value: number) => number;
  /** Shown in the place of the words about a bar while none is pointed at, such as a title. */
  readonly hint?: string;
}

/** Fewer bars than this are drawn as wide as if there were so many. */
const fewest = 20;

export function Bars({ label, items, format, titles = ["Run", label], height = 72, ...rest }: BarsProps) {
  const { round = roundUp, hint = " " } = rest;
  const [shown, setShown] = useState<string>();
  const top = round(Math.max(0, ...items.map(({ value }) => value)));
  const width = 100 / Math.max(fewest, items.length);
  const reached = items.some(({ key }) => key === shown) ? shown : items.at(-1)?.key;
  return (
    <figure className="plot" aria-label={label}>
      <div className="plot-body">
        <div className="plot-axis small soft" aria-hidden="true">
          <span>{format(top)}</span>
          <span>0</span>
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be a part of a picture */}
        <svg className="plot-area" height={height} role="group" aria-label={label} onKeyDown={moveFocus}>
          {items.map((bar, index) => (
            <OneBar
              key={bar.key}
              bar={bar}
              place={{
                x: index * width,
                width,
                height: Math.max(2, (height * Math.max(0, bar.value)) / top),
                all: height,
              }}
              isReached={bar.key === reached}
              onShow={() => setShown(bar.key)}
            />
          ))}
        </svg>
      </div>
      <div className="plot-foot">
        <p className="plot-readout small soft">{items.find(({ key }) => key === shown)?.title ?? hint}</p>
        <Numbers
          label={label}
          titles={titles}
          rows={items.map(({ key, label: name, value }) => ({ key, label: name, values: [format(value)] }))}
        />
      </div>
    </figure>
  );
}

interface Place {
  readonly x: number;
  readonly width: number;
  readonly height: number;
  readonly all: number;
}

interface OneBarProps {
  readonly bar: Bar;
  readonly place: Place;
  /** Whether the tabulator key reaches this bar; only one bar of a plot can be reached by it. */
  readonly isReached: boolean;
  readonly onShow: () => void;
}

function OneBar({ bar, place, isReached, onShow }: OneBarProps) {
  const common = {
    className: `plot-bar ${bar.tone ?? "run"}`,
    tabIndex: isReached ? 0 : -1,
    "aria-label": bar.title,
    role: bar.href === undefined ? "img" : undefined,
    onFocus: onShow,
    onMouseEnter: onShow,
  };
  const picture: ReactNode = (
    <>
      <rect className="reach" x={`${place.x}%`} y={0} width={`${place.width}%`} height={place.all} />
      <rect
        x={`${place.x + place.width * 0.1}%`}
        y={place.all - place.height}
        width={`${place.width * 0.8}%`}
        height={place.height}
        rx={1.5}
      />
    </>
  );
  if (bar.href === undefined) return <g {...common}>{picture}</g>;
  return (
    <Link {...common} href={bar.href}>
      {picture}
    </Link>
  );
}

function moveFocus(event: KeyboardEvent<SVGSVGElement>): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const at = event.target;
  if (step === undefined || !(at instanceof SVGElement)) return;
  const next = step > 0 ? at.nextElementSibling : at.previousElementSibling;
  if (!(next instanceof SVGElement)) return;
  event.preventDefault();
  next.focus();
}
