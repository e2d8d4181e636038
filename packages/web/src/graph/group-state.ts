/** The state of a group of nodes: the state that matters most, and how many nodes are done. */
import { toneOf } from "../look/status.tsx";
import type { GraphNode } from "./nodes.ts";

const importance = ["bad", "run", "warn", "wait", "off", "good"];

export function groupState(members: readonly GraphNode[]): { status: string | undefined; detail: string } {
  const states = members.flatMap(({ status }) => status ?? []);
  const first = (status: string) => importance.indexOf(toneOf(status));
  const status = [...new Set(states)].sort((a, b) => first(a) - first(b))[0];
  const done = states.filter((state) => toneOf(state) === "good").length;
  return { status, detail: states.length === 0 ? "" : `${done.toLocaleString("en")} complete` };
}
