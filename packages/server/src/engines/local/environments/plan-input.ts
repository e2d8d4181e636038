/** The input for the plan of an attempt, which is a shell script with a function for each phase. */
import type { PlugIns } from "../../../datachain/plug-ins/plug-ins.ts";
import type { AttemptFolder } from "../attempt/attempt-folder.ts";
import type { LocalSpec } from "../attempt/local-spec.ts";
import type { Isolation } from "../isolation/isolation.ts";
import type { Interpreter } from "./interpreters.ts";

export interface Toolbox {
  /** Path of the machine's uv; undefined if the machine has no uv. */
  readonly uv: string | undefined;
  /** How to install uv into the data folder if the machine has none; undefined if that is turned off. */
  readonly ownUv: OwnUv | undefined;
  /**
   * Path of environment.sh. This script runs with the server's rights. It runs code of packages only inside the
   * isolation.
   */
  readonly environmentScript: string;
  readonly envsDir: string;
  readonly plugIns: PlugIns;
}

interface OwnUv {
  readonly version: string;
  /** Path of a requirements file that lists this version of uv with its hashes. */
  readonly list: string;
  /** Path of the script that installs uv. */
  readonly script: string;
  /** Folder into which uv is installed. */
  readonly folder: string;
}

/** A job and what it runs with: the part of the plan that does not depend on the attempt. */
export interface PlannedJob {
  readonly spec: LocalSpec;
  readonly isolation: Isolation;
  readonly tools: Toolbox;
  readonly scriptName: string;
  readonly interpreter: Interpreter | undefined;
  /** Text of the requirements, including the dataset library; undefined if the attempt needs no virtualenv. */
  readonly requirements: string | undefined;
  /** Variables for building the virtualenv, without those that contain paths of this attempt. */
  readonly buildSettings: Readonly<Record<string, string>>;
}

export interface PlanInput extends PlannedJob {
  readonly folder: AttemptFolder;
  /** The `cgroup.procs` files of the control group. A process that writes 0 to them joins the group. */
  readonly groups: readonly string[];
  /** Maximum open files per process; 0 leaves the limit unchanged. */
  readonly openFiles: number;
  /** Maximum file size in bytes; 0 leaves the limit unchanged. */
  readonly fileBytes: number;
  /** Maximum bytes on disk of the job; 0 for no limit. */
  readonly disk: number;
  /**
   * Maximum number of processes of the job's user; 0 leaves the limit unchanged. Used only on machines without control
   * groups.
   */
  readonly processes: number;
}
