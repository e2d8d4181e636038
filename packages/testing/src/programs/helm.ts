/** Helm, for tests of the chart: built from source once, below .cache. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type GoProgram, programPath, whyNoProgram } from "./program.ts";

const program: GoProgram = { name: "helm", version: "4.3.1", source: "helm.sh/helm/v4/cmd/helm" };

/** Returns false if Helm is available, otherwise the reason to skip its tests. */
export const whyNoHelm = () => whyNoProgram(program);

/** Runs Helm and returns what it prints. */
export const helm = async (...words: readonly string[]): Promise<string> =>
  (await promisify(execFile)(programPath(program), words)).stdout;
