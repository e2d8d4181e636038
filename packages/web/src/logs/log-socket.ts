/** Follows a job over the WebSocket: its status, and the size of its log. Connects again by itself. */
import { isSettled, type JobStatus, type LogFrame } from "@millrace/contract";
import { serverPath } from "../api/base.ts";

interface FollowEvents {
  onSize(): void;
  onStatus(status: JobStatus): void;
  /** Called with false when the connection is lost, and with true when it is there again. */
  onConnection(isThere: boolean): void;
}

const longestPauseMs = 5000;

/** Returns a function that stops following. */
export function followJob(team: string, id: string, events: FollowEvents): () => void {
  let socket: WebSocket | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pauseMs = 250;
  let isOver = false;
  const connect = () => {
    socket = new WebSocket(addressOf(team, id));
    socket.onopen = () => {
      pauseMs = 250;
      events.onConnection(true);
    };
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(String(data)) as LogFrame;
      if ("size" in frame) events.onSize();
      if ("message" in frame) isOver = true;
      if (!("job" in frame)) return;
      isOver ||= isSettled(frame.job.status);
      events.onStatus(frame.job.status);
    };
    socket.onclose = () => {
      if (isOver) return;
      events.onConnection(false);
      timer = setTimeout(connect, pauseMs);
      pauseMs = Math.min(longestPauseMs, pauseMs * 2);
    };
  };
  connect();
  return () => {
    isOver = true;
    clearTimeout(timer);
    socket?.close();
  };
}

function addressOf(team: string, id: string): string {
  const url = new URL(serverPath("/api/logs/follow/"), window.location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.search = new URLSearchParams({ job_id: id, team_name: team, sizes: "true" }).toString();
  return url.href;
}
