/** A job as an engine gets it, for tests: a shell script without anything else, except for what the test names. */
import { attemptKey, type JobSpec } from "../../src/engines/engine.ts";

export const jobSpec = (given: Partial<JobSpec> & Pick<JobSpec, "jobId" | "query">): JobSpec => ({
  key: attemptKey(given.jobId, 1),
  teamId: 1,
  person: null,
  name: null,
  queryType: "SHELL",
  environment: {},
  params: {},
  pythonVersion: null,
  requirements: null,
  repository: null,
  reset: false,
  files: [],
  workers: 1,
  priority: 5,
  isRetried: false,
  datasets: null,
  ...given,
});
