/**
 * Regular expressions whose time is linear in the length of the text, so that no pattern can hold the server. The
 * pattern is compiled to a nondeterministic automaton of bounded size; its deterministic counterpart is built while
 * texts are tested, and is dropped when it becomes large. There are no back references and no lookaround.
 */
import { type Node, parsePattern } from "./pattern-syntax.ts";

/** The kind of character before or after a position, as far as `^`, `$` and `\b` need it. */
type Kind = 0 | 1 | 2;
const edge: Kind = 0;
const word: Kind = 1;
const other: Kind = 2;

type Step =
  | { readonly to: "char"; readonly ranges: readonly (readonly [number, number])[]; next: number }
  | { readonly to: "both"; next: number; also: number }
  | { readonly to: "check"; readonly check: "start" | "end" | "boundary" | "inside"; next: number }
  | { readonly to: "match" };

const mostSteps = 400;
/** Maximum number of parts that are looked at while a pattern is compiled; repetitions count each time. */
const mostParts = 20_000;
/** Maximum work of one test, in steps of roughly a nanosecond. Nothing else runs during a test. */
const mostWork = 30_000_000;
const mostStates = 4000;
/** Code unit that stands for the end of the text. Texts have lines, so the end is the end of a line. */
const newline = 10;

const isWord = (code: number) =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122);
const kindOf = (code: number): Kind => (code === newline ? edge : isWord(code) ? word : other);

/** The pattern has too many parts, or takes too long for the text. */
export class PatternTooLarge extends Error {}

interface State {
  /** Steps before the checks at the position are made. */
  readonly steps: readonly number[];
  readonly before: Kind;
}

export class LinearPattern {
  readonly #steps: Step[] = [];
  #parts = 0;
  readonly #first: number;
  /** Class of every code unit. Code units of one class are alike for this pattern. */
  readonly #classOf = new Uint16Array(65_536);
  /** A code unit of every class. */
  readonly #samples: number[] = [];
  /** The classes that a step accepts, by its ranges. Repeated parts share their ranges. */
  readonly #accepted = new Map<unknown, ReadonlySet<number>>();
  #states: State[] = [];
  #ids = new Map<string, number>();
  /** Next state by state and class, plus one; 0 if not known yet; -1 if there is a match before the code unit. */
  #next: Int32Array = new Int32Array(0);
  #work = 0;

  /** Throws a SyntaxError if the pattern is not valid, and PatternTooLarge if it would be too expensive. */
  constructor(pattern: string, { ignoreCase = false } = {}) {
    const end = this.#add({ to: "match" });
    this.#first = this.#compile(parsePattern(pattern, ignoreCase), end);
    this.#classify();
    this.#forget();
  }

  get work(): number {
    return this.#work;
  }

  /** Tells whether any line of the text has a match. Throws PatternTooLarge if that takes too long. */
  test(text: string): boolean {
    const most = this.#work + mostWork;
    this.#work += 50 + text.length * 4;
    const classes = this.#samples.length;
    let state = 0;
    for (let index = 0; index <= text.length; index++) {
      const kind = this.#classOf[index < text.length ? text.charCodeAt(index) : newline] as number;
      let next = this.#next[state * classes + kind] as number;
      if (next === 0) {
        if (this.#work > most) throw new PatternTooLarge();
        if (this.#states.length > mostStates) state = this.#keepOnly(state);
        next = this.#follow(state, kind);
      }
      if (next === -1) return true;
      state = next - 1;
    }
    return false;
  }

  #add(step: Step): number {
    if (this.#steps.length >= mostSteps) throw new PatternTooLarge();
    return this.#steps.push(step) - 1;
  }

  /** Adds the steps of a part of the pattern that goes on at `next`. Returns the first step. */
  #compile(node: Node, next: number): number {
    if (++this.#parts > mostParts) throw new PatternTooLarge();
    if (node.is === "chars") return this.#add({ to: "char", ranges: node.ranges, next });
    if (node.is === "check") return this.#add({ to: "check", check: node.check, next });
    if (node.is === "sequence") return node.parts.reduceRight((after, part) => this.#compile(part, after), next);
    if (node.is === "either")
      return node.parts
        .map((part) => this.#compile(part, next))
        .reduceRight((also, first) => this.#add({ to: "both", next: first, also }));
    let after = next;
    if (node.most === undefined) {
      const loop = { to: "both" as const, next, also: next };
      after = this.#add(loop);
      loop.also = this.#compile(node.part, after);
    } else {
      for (let count = node.least; count < node.most; count++)
        after = this.#add({ to: "both", next, also: this.#compile(node.part, after) });
    }
    for (let count = 0; count < node.least; count++) after = this.#compile(node.part, after);
    return after;
  }

  #classify(): void {
    const cuts = new Set([0, newline, newline + 1, 48, 58, 65, 91, 95, 96, 97, 123]);
    for (const step of this.#steps) {
      if (step.to === "char") for (const [from, to] of step.ranges) cuts.add(from).add(to + 1);
    }
    const starts = [...cuts].filter((code) => code < 65_536).sort((a, b) => a - b);
    for (const [index, start] of starts.entries()) {
      this.#classOf.fill(index, start, starts[index + 1] ?? 65_536);
      this.#samples.push(start);
    }
    for (const step of this.#steps) if (step.to === "char") this.#accept(step.ranges);
  }

  #accept(ranges: readonly (readonly [number, number])[]): void {
    if (this.#accepted.has(ranges)) return;
    const classes = new Set<number>();
    for (const [from, to] of ranges)
      for (let kind = this.#classOf[from] as number; (this.#samples[kind] ?? 65_536) <= to; kind++) classes.add(kind);
    this.#accepted.set(ranges, classes);
  }

  #forget(): void {
    this.#states = [];
    this.#ids = new Map();
    this.#next = new Int32Array(64 * this.#samples.length);
    this.#stateOf([this.#first], edge);
  }

  #keepOnly(id: number): number {
    const { steps, before } = this.#states[id] as State;
    this.#forget();
    return this.#stateOf(steps, before);
  }

  #stateOf(steps: readonly number[], before: Kind): number {
    const key = `${before}:${steps.join()}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#states.push({ steps, before }) - 1;
    this.#ids.set(key, id);
    const classes = this.#samples.length;
    if ((id + 1) * classes > this.#next.length) {
      const larger = new Int32Array(this.#next.length * 2);
      larger.set(this.#next);
      this.#next = larger;
    }
    return id;
  }

  /** Computes the state after a code unit of this class, and remembers it. */
  #follow(id: number, kind: number): number {
    const { steps, before } = this.#states[id] as State;
    const code = this.#samples[kind] as number;
    const reached = this.#reach(steps, before, kindOf(code));
    const isMatch = [...reached].some((step) => this.#steps[step]?.to === "match");
    // A match may begin at every position; a line that ends begins a new one.
    const after = new Set([this.#first]);
    for (const step of reached) {
      const one = this.#steps[step];
      if (code !== newline && one?.to === "char" && this.#accepted.get(one.ranges)?.has(kind)) after.add(one.next);
    }
    this.#work += 100 + 30 * (reached.size + steps.length);
    const next = isMatch
      ? -1
      : this.#stateOf(
          [...after].sort((a, b) => a - b),
          kindOf(code),
        ) + 1;
    this.#next[id * this.#samples.length + kind] = next;
    return next;
  }

  /** Returns all steps that can be reached without a character. */
  #reach(steps: readonly number[], before: Kind, after: Kind): Set<number> {
    const reached = new Set<number>();
    const open = [...steps];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (reached.has(at)) continue;
      reached.add(at);
      const step = this.#steps[at] as Step;
      if (step.to === "both") open.push(step.next, step.also);
      else if (step.to === "check" && holds(step.check, before, after)) open.push(step.next);
    }
    return reached;
  }
}

function holds(check: "start" | "end" | "boundary" | "inside", before: Kind, after: Kind): boolean {
  if (check === "start") return before === edge;
  if (check === "end") return after === edge;
  const isBoundary = (before === word) !== (after === word);
  return check === "boundary" ? isBoundary : !isBoundary;
}
