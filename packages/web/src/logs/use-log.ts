/** The log of a job for a component: its lines, and whether they are live. */
import { isSettled, type Job, routes } from "@millrace/contract";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useReducer, useState } from "react";
import { clientOf } from "../api/client.ts";
import { LogLines } from "./log-lines.ts";
import { followJob } from "./log-socket.ts";

export interface OpenLog {
  readonly lines: LogLines;
  /** Whether the job may still write. */
  readonly isLive: boolean;
  /** Whether the connection of a live log is there. */
  readonly isConnected: boolean;
}

export function useLog(job: Job, attempt: number | undefined): OpenLog {
  const { team, id } = job;
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const [isConnected, setConnected] = useState(true);
  const cache = useQueryClient();
  const isLive = !isSettled(job.status);
  const lines = useMemo(() => {
    const params = { job_id: id };
    return new LogLines((first_line, limit) => {
      const query = {
        limit,
        ...(first_line === undefined ? {} : { first_line }),
        ...(attempt === undefined ? {} : { attempt }),
      };
      return clientOf(team).call(routes.getLogLines, { params, query });
    });
  }, [team, id, attempt]);
  useEffect(() => {
    const stop = lines.subscribe(() => draw());
    void lines.grow();
    return () => {
      stop();
      lines.close();
    };
  }, [lines]);
  useEffect(() => {
    if (!isLive) return;
    return followJob(team, id, {
      onSize: () => void lines.grow(),
      onStatus: () => {
        void cache.invalidateQueries({ queryKey: [routes.listJobs.id] });
        void cache.invalidateQueries({ queryKey: [routes.getJobAttempts.id] });
        void cache.invalidateQueries({ queryKey: [routes.getJobUsage.id] });
        void lines.grow();
      },
      onConnection: (isThere) => {
        setConnected(isThere);
        if (isThere) void lines.grow();
      },
    });
  }, [team, id, lines, isLive, cache]);
  // The last lines of a log are complete only when the job has ended.
  useEffect(() => {
    if (!isLive) void lines.grow();
  }, [lines, isLive]);
  return { lines, isLive, isConnected };
}
