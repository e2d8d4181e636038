/** The end of a job's log, as it grows. */
import { type JobStatus, type LogFrame, routes } from "@millrace/contract";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { serverPath } from "../api/base.ts";
import { useTeam } from "../api/team.tsx";

/** Characters of the log that are shown; the page of the job has the rest. */
const most = 200_000;

interface Tail {
  readonly text: string;
  readonly status: JobStatus | undefined;
}

/** Follows a job over its socket. A connection that breaks is opened again where it ended. */
export function useLogTail(jobId: string): Tail {
  const team = useTeam();
  const cache = useQueryClient();
  const [tail, setTail] = useState<Tail>({ text: "", status: undefined });
  useEffect(() => {
    setTail({ text: "", status: undefined });
    return follow(team, jobId, {
      onText: (more) => setTail((before) => ({ ...before, text: (before.text + more).slice(-most) })),
      onStatus: (status) => {
        setTail((before) => ({ ...before, status }));
        void cache.invalidateQueries({ queryKey: [routes.listJobs.id] });
      },
    });
  }, [team, jobId, cache]);
  return tail;
}

interface Listener {
  readonly onText: (text: string) => void;
  readonly onStatus: (status: JobStatus) => void;
}

const encoder = new TextEncoder();

/** Opens the socket, and returns a function that closes it. */
function follow(team: string, jobId: string, { onText, onStatus }: Listener): () => void {
  let after = 0;
  let socket: WebSocket | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;
  const receive = ({ data }: MessageEvent) => {
    const frame = JSON.parse(String(data)) as LogFrame;
    if ("logs" in frame && frame.logs.length > 0) {
      const last = frame.logs.at(-1);
      if (last) after = last.id - 1 + encoder.encode(last.message).length;
      onText(frame.logs.map(({ message }) => message).join(""));
    }
    if ("job" in frame) onStatus(frame.job.status);
  };
  const open = () => {
    const query = new URLSearchParams({ job_id: jobId, team_name: team, after: String(after) });
    const url = new URL(serverPath(`${routes.followLogs.path}?${query}`), window.location.href);
    url.protocol = url.protocol.replace("http", "ws");
    socket = new WebSocket(url);
    socket.onmessage = receive;
    // 1000: the job has ended and everything was sent.
    socket.onclose = ({ code }) => {
      if (!closed && code !== 1000) timer = setTimeout(open, 1000);
    };
  };
  open();
  return () => {
    closed = true;
    clearTimeout(timer);
    socket?.close();
  };
}

export function LogTail({ text }: { text: string }) {
  const element = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    const { current } = element;
    if (current && atEnd.current) current.scrollTop = current.scrollHeight;
  });
  return (
    <pre
      ref={element}
      className="log-tail"
      role="log"
      aria-label="Log"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the log is scrolled with the keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        atEnd.current = scrollHeight - scrollTop - clientHeight < 24;
      }}
    >
      {text}
    </pre>
  );
}
