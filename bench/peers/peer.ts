/** What the measurement needs of a product: each has one file with such an object. */
import type { Stage } from "./stage.ts";

export interface Peer {
  readonly name: string;
  /** Versions of the product and of what it needs, as the table shows them. */
  readonly version: string;
  /** How it is set up, which processes it has, and where a job runs. */
  readonly setting: string;
  /** What the no-op, the chain and the log are in this product. */
  readonly work: string;
  /** Steps that the product has nothing for, and what the table says instead. */
  readonly lacks?: Readonly<Record<string, string>>;
  /** Installs the product where it is missing. Rejects with the reason if it cannot be had. */
  install(): Promise<void>;
  /** Creates its database and configuration. Not measured. */
  prepare(stage: Stage): Promise<void>;
  /** Starts all its processes; resolves when it is ready for a job. */
  start(stage: Stage): Promise<void>;
  /** Ends what `start` has started outside of the stage. */
  stop?(): Promise<void>;
  /** Removes what `prepare` has created outside of the stage. */
  remove?(): Promise<void>;
  connect(stage: Stage): Promise<Work>;
}

/** Reports how many jobs of an order have ended. */
export type Progress = (finished: number) => void;

export interface Answer {
  readonly seconds: number;
  /** Bytes of the log that the product has kept. */
  readonly kept?: number;
}

/** A client of the running product. */
export interface Work {
  /** From the request until the client knows the end of the job. */
  one(): Promise<Answer>;
  /** All are requested at once. */
  many(count: number, progress: Progress): Promise<Answer>;
  /** Each job begins when the one before it has ended. */
  chain(length: number): Promise<Answer>;
  /** A job that writes this many bytes, in lines of 100. */
  log(bytes: number): Promise<Answer>;
}
