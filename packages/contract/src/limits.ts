/** Limits of requests, of the variables of a process, and of responses. docs/limits.md lists them. */

/** Limits of a request: characters of texts, and elements of lists. */
export const fieldLimits = {
  query: 1_048_576,
  requirements: 262_144,
  environment: 262_144,
  /** The `# /// script` block of a query. */
  metadata: 65_536,
  repository: 2048,
  script: 1024,
  name: 255,
  files: 1000,
  tags: 20,
} as const;

/**
 * What the kernel hands to a new process, in bytes. It refuses a single variable of more than 128 KiB, and all arguments
 * and variables together over a quarter of the stack's limit, which is 2 MiB almost everywhere: half of that is ours.
 */
export const processLimits = {
  /** One variable as `NAME=VALUE` with the NUL at its end. */
  variable: 131_072,
  /** Number of variables in one text. */
  count: 1000,
  /** The name of a variable. */
  variableName: 255,
  /** All variables of a job, each with 8 bytes for the pointer to it. */
  variables: 1_048_576,
  /** `params` as JSON: jobs get them in a variable. */
  params: 130_000,
  /** A line of requirements: it may become an argument. */
  requirementsLine: 65_536,
} as const;

/** Limits of one response. */
export const answerLimits = {
  /** A list ends after this many bytes; the cursor leads to the rest. */
  bytes: 16 * 1024 * 1024,
  /** Characters of a text in a list, and bytes of an object as JSON: longer texts are cut, longer objects left empty. */
  listed: 8192,
} as const;

const encoder = new TextEncoder();

/** Size of a variable as the kernel counts it: `NAME=VALUE` and a NUL. */
export const variableBytes = (name: string, value: string): number =>
  encoder.encode(name).length + encoder.encode(value).length + 2;

/** Size of all variables of a process, each with the pointer to it. */
export const environmentBytes = (values: Readonly<Record<string, string>>): number =>
  Object.entries(values).reduce((sum, [name, value]) => sum + variableBytes(name, value) + 8, 0);
