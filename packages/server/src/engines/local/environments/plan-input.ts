/** What the plan of an attempt is written from. */
import type { PlugIns } from "../../../datachain/plug-ins/plug-ins.ts";
import type { JobSpec } from "../../engine.ts";
import type { AttemptFolder } from "../attempt/attempt-folder.ts";
import type { Isolation } from "../isolation/isolation.ts";
import type { Interpreter } from "./interpreters.ts";

export interface Toolbox {
  /** Of the machine. */
  readonly uv: string | undefined;
  /** Where the machine has none: how the server puts one into its data folder. */
  readonly ownUv: OwnUv | undefined;
  /** Runs with the server's rights; what it runs of strangers' it runs inside. */
  readonly environmentScript: string;
  readonly envsDir: string;
  readonly plugIns: PlugIns;
}

interface OwnUv {
  readonly version: string;
  /** That version with hashes of its packages, as requirements. */
  readonly list: string;
  readonly script: string;
  readonly folder: string;
}

export interface PlanInput {
  readonly spec: JobSpec;
  readonly folder: AttemptFolder;
  readonly isolation: Isolation;
  readonly tools: Toolbox;
  readonly scriptName: string;
  readonly interpreter: Interpreter | undefined;
  /** Text of the requirements, with what the query needs beyond them. */
  readonly requirements: string | undefined;
  /** Variables that an environment is built with, but for those that only say where this attempt's folders are. */
  readonly buildSettings: Readonly<Record<string, string>>;
  /** Files that take in whoever writes a 0 into them. */
  readonly groups: readonly string[];
  /** Per process; 0: as it is. */
  readonly openFiles: number;
  /** The largest file that it may make; 0: as it is. */
  readonly fileBytes: number;
  /** Bytes on disk that the job may take; 0: any number. */
  readonly disk: number;
  /** Of the job's user, where no group counts them; 0: as it is. */
  readonly processes: number;
}
