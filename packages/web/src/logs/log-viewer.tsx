/** The log of a job: it opens at its end, follows it, and has no limit of size. */
import type { Job } from "@millrace/contract";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useUrlState } from "../api/url-state.ts";
import { Button } from "../look/button.tsx";
import { bytes } from "../look/bytes.ts";
import { LoadError } from "../look/states.tsx";
import { plainOf } from "./ansi.ts";
import { type Fold, rowsOf } from "./folds.ts";
import { LogRow, ProgressLine } from "./log-row.tsx";
import { LogTools } from "./log-tools.tsx";
import "./logs.css";
import { Pace, type Progress, progressOf } from "./progress.ts";
import { useFold } from "./use-fold.ts";
import { type OpenLog, useLog } from "./use-log.ts";
import { nextError, useLogSearch } from "./use-log-search.ts";
import { type LogWindow, useLogWindow } from "./use-log-window.ts";

export function LogViewer({ job }: { job: Job }) {
  const [attempt] = useUrlState("attempt");
  const number = /^\d+$/.test(attempt) ? Number(attempt) : undefined;
  // Another attempt is another log: nothing of the old one stays.
  return <Viewer key={`${job.id} ${attempt}`} job={job} attempt={number} />;
}

const remembered = (name: string) => localStorage.getItem(`millrace.log.${name}`) === "yes";

function useToggle(name: string): [boolean, () => void] {
  const [isOn, setOn] = useState(() => remembered(name));
  const toggle = () => {
    localStorage.setItem(`millrace.log.${name}`, isOn ? "no" : "yes");
    setOn(!isOn);
  };
  return [isOn, toggle];
}

function Viewer({ job, attempt }: { job: Job; attempt: number | undefined }) {
  const log = useLog(job, attempt);
  const { lines } = log;
  const [wraps, toggleWrap] = useToggle("wrap");
  const [withTimes, toggleTimes] = useToggle("times");
  const [text, setText] = useUrlState("find");
  const [kind, setKind] = useUrlState("find-as");
  const [line, setLine] = useUrlState("line");
  const found = useLogSearch({ team: job.team, id: job.id, attempt, text, isRegex: kind === "regex" });
  const [fold, isOpen, toggleFold] = useFold(job, log, attempt);
  const rows = rowsOf(lines.shown, lines.total === undefined || isOpen ? undefined : fold);
  const view = useLogWindow(rows.count, wraps);
  const selected = /^\d+$/.test(line) ? Number(line) : undefined;
  const [current, setCurrent] = useState<number>();
  const [notice, setNotice] = useState("");
  const goTo = (number: number) => {
    setCurrent(number);
    view.goTo(rows.rowOf(number - 1));
    // On a phone the log may be below the window.
    view.frame.current?.scrollIntoView({ block: "nearest" });
  };
  useJumps({ selected, isCounted: lines.total !== undefined, goTo });
  useEffect(() => {
    lines.want(rows.lineOf(view.from), rows.lineOf(Math.max(view.from, view.to - 1)) + 1);
  });
  const here = current ?? rows.lineOf(view.from) + 1;
  const error = async () => {
    const next = await nextError({ team: job.team, id: job.id, attempt }, here).catch(() => undefined);
    setNotice(next === undefined ? "No line looks like an error" : `Line ${next} looks like an error`);
    if (next !== undefined) goTo(next);
  };
  if (lines.error !== undefined && lines.shown === 0)
    return <LoadError error={lines.error} retry={() => void lines.grow()} />;
  return (
    <section className="log" aria-label="Log">
      <LogTools
        job={job}
        attempt={attempt}
        search={{
          text,
          isRegex: kind === "regex",
          found,
          current,
          onText: setText,
          onKind: (isRegex) => setKind(isRegex ? "regex" : ""),
        }}
        toggles={{ wraps, toggleWrap, withTimes, toggleTimes }}
        onHit={goTo}
        onError={() => void error()}
        notice={notice}
        end={<LogEnd isLive={log.isLive} view={view} />}
      />
      <LogNow log={log} />
      <LogList
        log={log}
        view={view}
        wraps={wraps}
        row={(row) => {
          const at = rows.lineOf(row);
          if (rows.isFold(row) && fold)
            return <FoldRow key="fold" row={row} count={fold.to - fold.from + 1} onOpen={toggleFold} />;
          const number = lines.total === undefined ? undefined : at + 1;
          const isHit = number !== undefined && number === current;
          return (
            <div key={at} data-row={row} className={fold && isOpen ? builtClass(at, fold) : undefined}>
              {fold && isOpen && at === fold.from && <FoldEnd onClose={toggleFold} />}
              <LogRow
                number={number}
                line={lines.at(at)}
                withTime={withTimes}
                find={kind === "regex" ? "" : text}
                mark={number !== undefined && number === selected ? "selected" : isHit ? "hit" : ""}
                onNumber={(one) => setLine(one === selected ? "" : String(one))}
              />
            </div>
          );
        }}
      />
      <LogFoot log={log} />
    </section>
  );
}

/** Jumps to the line that the URL names: at first when the lines are counted, then whenever it changes from outside. */
function useJumps({
  selected,
  isCounted,
  goTo,
}: {
  selected: number | undefined;
  isCounted: boolean;
  goTo: (line: number) => void;
}) {
  const done = useRef<number>(undefined);
  useEffect(() => {
    if (!isCounted || selected === undefined || done.current === selected) return;
    done.current = selected;
    goTo(selected);
  });
}

interface ListProps {
  readonly log: OpenLog;
  readonly view: LogWindow;
  readonly wraps: boolean;
  readonly row: (row: number) => ReactNode;
}

const LogList = ({ log, view, wraps, row }: ListProps) => (
  <section
    ref={view.frame}
    className={`log-frame ${wraps ? "wraps" : ""}${isShort(log) ? " short" : ""}`}
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the log is scrolled with the keyboard
    tabIndex={0}
    aria-label="Lines of the log"
    onScroll={view.onScroll}
    onKeyDown={(event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && view.onKey(event.key)) event.preventDefault();
    }}
  >
    <div className="log-space" style={{ height: view.contentHeight }}>
      <div className="log-view" style={{ height: view.height }}>
        <div ref={view.list} className="log-list">
          {Array.from({ length: Math.max(0, view.to - view.from) }, (_, index) => row(view.from + index))}
        </div>
      </div>
      {log.lines.shown === 0 && <p className="log-empty soft">{emptyWords(log)}</p>}
    </div>
  </section>
);

/** Whether all lines of an ended job fit in a small frame. A live log has its full height from the beginning. */
const isShort = ({ lines, isLive }: OpenLog) => !isLive && lines.total !== undefined && lines.total <= 12;

function emptyWords({ lines, isLive }: OpenLog): string {
  if (lines.total === undefined) return "Reading the log";
  return isLive ? "The job has written nothing yet. Lines appear here as they are written." : "The job wrote nothing.";
}

const FoldRow = ({ row, count, onOpen }: { row: number; count: number; onOpen: () => void }) => (
  <div className="log-row fold" data-row={row}>
    <span className="log-number" />
    <button type="button" className="log-fold" aria-expanded={false} onClick={onOpen}>
      {`▸ Environment build, ${count} lines`}
    </button>
  </div>
);

/** Lines of the open fold have a bar at their left, and a line where the script's own lines begin. */
const builtClass = (at: number, { from, to }: Fold) =>
  at < from || at > to ? undefined : at === to ? "log-built last" : "log-built";

const FoldEnd = ({ onClose }: { onClose: () => void }) => (
  <div className="log-row fold">
    <span className="log-number" />
    <button type="button" className="log-fold" aria-expanded={true} onClick={onClose}>
      ▾ Environment build
    </button>
  </div>
);

/** The progress that the last lines of a running job show. */
function LogNow({ log: { lines, isLive } }: { log: OpenLog }) {
  const pace = useRef(new Pace());
  if (!isLive) return null;
  let progress: Progress | undefined;
  for (let back = 1; back <= 3 && !progress; back++) {
    const text = lines.at(lines.shown - back)?.text;
    progress = text === undefined ? undefined : progressOf(plainOf(text));
  }
  if (!progress) return null;
  return (
    <div className="log-now">
      <ProgressLine progress={pace.current.measure(progress, Date.now())} />
    </div>
  );
}

const count = new Intl.NumberFormat("en");

const LogFoot = ({ log: { lines, isLive, isConnected } }: { log: OpenLog }) => (
  <footer className="log-foot row apart small soft">
    <span>
      {lines.total === undefined
        ? lines.size > 0
          ? `Counting lines: ${Math.floor((100 * lines.counted) / lines.size)}%`
          : "\u00a0"
        : `${count.format(lines.total)} ${lines.total === 1 ? "line" : "lines"}, ${bytes(lines.size)}`}
    </span>
    {(lines.error !== undefined || (isLive && !isConnected)) && (
      <span className="warn" role="status">
        Connection lost; trying again
      </span>
    )}
  </footer>
);

/** A live log is followed or not; an ended one has a way to its end. */
function LogEnd({ isLive, view }: { isLive: boolean; view: LogWindow }) {
  if (isLive)
    return (
      <Button
        kind="bare"
        icon="down"
        aria-pressed={view.isAtEnd}
        title="Shows new lines as they are written"
        onClick={view.isAtEnd ? view.stay : view.goToEnd}
      >
        Follow
      </Button>
    );
  if (view.isAtEnd) return null;
  return (
    <Button kind="bare" icon="down" onClick={view.goToEnd}>
      <span className="log-word">Go to the end</span>
      <span className="log-short" aria-hidden="true">
        End
      </span>
    </Button>
  );
}
