/** Turns refusals of a runner into answers. */
import { ApiError, type ErrorCode } from "@millrace/contract";
import { RunnerRefused } from "../../engines/runners/runners.ts";

const codes: Readonly<Record<RunnerRefused["why"], ErrorCode>> = {
  taken: "wrong_state",
  incomplete: "wrong_state",
  full: "wrong_state",
  over: "gone",
  missing: "not_found",
  foreign: "wrong_state",
};

export async function answering<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof RunnerRefused ? new ApiError(codes[error.why], error.message) : error;
  }
}
