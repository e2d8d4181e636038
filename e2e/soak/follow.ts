/** Followers over the log socket: patient ones that reconnect after every break, and ones that stall. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { isSettled, type LogFrame, routes } from "@millrace/contract";
import WebSocket from "ws";
import type { Load } from "./load.ts";

const socketUrl = (base: string, jobId: string, after: number) =>
  `${base.replace("http", "ws")}${routes.followLogs.path}?job_id=${jobId}&team_name=main&after=${after}`;

/** The text of the whole log. Undefined if the server sent something else, as for an unknown job. */
export async function follow(load: Load, jobId: string): Promise<string | undefined> {
  const state = { text: "", offset: 0, ended: false, other: false };
  while (!state.ended && !load.over.aborted) {
    await oneConnection(load, jobId, state);
    if (!state.ended) await sleep(300);
  }
  return state.other ? undefined : state.text;
}

interface Followed {
  text: string;
  offset: number;
  ended: boolean;
  other: boolean;
}

function oneConnection(load: Load, jobId: string, state: Followed): Promise<void> {
  const { subject } = load;
  const socket = new WebSocket(socketUrl(subject.proxy.url, jobId, state.offset), {
    headers: { authorization: `Bearer ${subject.token}` },
    handshakeTimeout: 10_000,
  });
  socket.on("message", (data) => {
    const frame = JSON.parse(String(data)) as LogFrame;
    if ("message" in frame) state.other = true;
    if ("job" in frame && isSettled(frame.job.status)) state.ended = true;
    for (const { id, message } of "logs" in frame ? frame.logs : []) {
      if (id !== state.offset + 1) load.complain(`a follower of ${jobId} was sent ${id} after ${state.offset}`);
      state.text += message;
      state.offset = id - 1 + Buffer.byteLength(message);
    }
  });
  socket.on("error", () => {});
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

/** Connections that request a log and then read nothing, and requests that stop in the middle of their bodies. */
export async function stall(load: Load, jobId: string): Promise<void> {
  const { server, token } = load.subject;
  const sockets = [...Array(15).keys()].map((index) => {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.pause();
    const authorization = `Host: 127.0.0.1:${server.port}\r\nAuthorization: Bearer ${token}`;
    const follow = `GET ${routes.followLogs.path}?job_id=${jobId} HTTP/1.1\r\n${authorization}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: c29ha2luZy1zb2FraW5nIQ==\r\n\r\n`;
    const cut = `POST ${routes.createJob.path} HTTP/1.1\r\n${authorization}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"query": "echo never`;
    socket.write(index % 2 ? follow : cut);
    return socket;
  });
  await sleep(load.random.between(1000, 8000), undefined, { signal: load.stop }).catch(() => {});
  for (const socket of sockets) socket.destroy();
  assert.ok(sockets.length > 0);
}
