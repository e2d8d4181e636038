/** Limits of requests, of responses, and of the arguments and environment of a process. docs/limits.md lists them. */

/**
 * Limits of the fields of a request. For a text, this is the maximum number of characters; for a list, the maximum
 * number of elements.
 */
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
 * Limits of the arguments and environment of a process, in bytes. The kernel refuses a variable of more than 128 KiB.
 * It also refuses to start a process whose arguments and variables together exceed a quarter of the stack limit. On
 * most machines, this quarter is 2 MiB, and the variables of a job may use half of it.
 */
export const processLimits = {
  /** Maximum number of bytes of one variable, counted as `NAME=VALUE` with the NUL at the end. */
  variable: 131_072,
  /** Maximum number of variables in one `environment` text. */
  count: 1000,
  /** Maximum number of bytes of a variable's name. */
  variableName: 255,
  /**
   * Maximum number of bytes of all variables of a job. Each variable counts 8 bytes more than its own size, because the
   * kernel also counts the pointer to it.
   */
  variables: 1_048_576,
  /** Maximum number of bytes of `params` as JSON. A job gets `params` in one variable. */
  params: 130_000,
  /** Maximum number of bytes of a line of `requirements`. A line may become an argument of a command. */
  requirementsLine: 65_536,
} as const;

/** Limits of one response. */
export const answerLimits = {
  /** Maximum size of one page of a list, in bytes. The rest of the list is on further pages. */
  bytes: 16 * 1024 * 1024,
  /**
   * Maximum size of a field in a list. A text with more characters is truncated, and an object with more bytes of JSON
   * is replaced by an empty one.
   */
  listed: 8192,
} as const;

const encoder = new TextEncoder();

/** Returns the size of a variable in bytes, as the kernel counts it: `NAME=VALUE` with a NUL at the end. */
export const variableBytes = (name: string, value: string): number =>
  encoder.encode(name).length + encoder.encode(value).length + 2;

/**
 * Returns the size of all variables of a process in bytes. Each variable counts 8 bytes more, for the pointer to it.
 */
export const environmentBytes = (values: Readonly<Record<string, string>>): number =>
  Object.entries(values).reduce((sum, [name, value]) => sum + variableBytes(name, value) + 8, 0);
