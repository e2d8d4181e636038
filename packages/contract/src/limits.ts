/** Limits of requests, of the arguments and environment of a process, and of responses. docs/limits.md lists them. */

/** Limits of the fields of a request: maximum number of characters of a text, and of elements of a list. */
export const fieldLimits = {
  query: 1_048_576,
  requirements: 262_144,
  environment: 262_144,
  /** Maximum number of characters of the `# /// script` block of a query. */
  metadata: 65_536,
  repository: 2048,
  script: 1024,
  name: 255,
  files: 1000,
  tags: 20,
} as const;

/**
 * Limits of the arguments and environment of a process, in bytes. The kernel refuses a single variable of more than 128
 * KiB. It also refuses arguments and variables that together exceed a quarter of the stack limit; on most machines,
 * this is 2 MiB. The variables of a job may use half of these 2 MiB.
 */
export const processLimits = {
  /** Maximum size of one variable as `NAME=VALUE` with the terminating NUL. */
  variable: 131_072,
  /** Maximum number of variables in one `environment` text. */
  count: 1000,
  /** Maximum size of a variable's name. */
  variableName: 255,
  /**
   * Maximum total size of all variables of a job. Each variable counts 8 bytes more than its own size, for the pointer
   * to it.
   */
  variables: 1_048_576,
  /** Maximum size of `params` as JSON, which jobs get in one variable. */
  params: 130_000,
  /** Maximum size of a line of `requirements`, which may become an argument of a command. */
  requirementsLine: 65_536,
} as const;

/** Limits of one response. */
export const answerLimits = {
  /** Maximum size of a list in bytes; the next page has the rest. */
  bytes: 16 * 1024 * 1024,
  /**
   * In lists, a text with more than this many characters is truncated, and an object with more than this many bytes of
   * JSON is left empty.
   */
  listed: 8192,
} as const;

const encoder = new TextEncoder();

/** Returns the size of a variable in bytes as the kernel counts it: `NAME=VALUE` and a NUL. */
export const variableBytes = (name: string, value: string): number =>
  encoder.encode(name).length + encoder.encode(value).length + 2;

/** Returns the size of all variables of a process in bytes, with 8 bytes for the pointer to each. */
export const environmentBytes = (values: Readonly<Record<string, string>>): number =>
  Object.entries(values).reduce((sum, [name, value]) => sum + variableBytes(name, value) + 8, 0);
