/** The task that each compared client runs, and its result. */

export interface ClientTask {
  readonly kind: "list" | "get" | "download" | "upload";
  readonly scheme: "s3" | "gs" | "az";
  /** Configuration in the form of the storage library and of the Python libraries whose parameters these are. */
  readonly config: Readonly<Record<string, string>>;
  readonly bucket: string;
  /** Number of small objects to read. */
  readonly count: number;
  /** Number of existing small objects, which are read in rotation. */
  readonly objects: number;
  /** Parallel requests, or parallel parts of one object. */
  readonly concurrency: number;
  /** Bytes per part or range. */
  readonly block: number;
  /** Target of a download, and source of an upload. */
  readonly file: string;
}

export interface ClientReport {
  readonly seconds: number;
  /** CPU seconds. */
  readonly cpu: number;
  /** Keys or bytes, so that no client is fast by leaving something out. */
  readonly result: number;
}

/** Loading, starting and connecting do not count: every client first reads an object. */
export async function report(run: () => Promise<number>): Promise<void> {
  const used = process.cpuUsage();
  const begin = performance.now();
  const result = await run();
  const seconds = (performance.now() - begin) / 1000;
  const { user, system } = process.cpuUsage(used);
  console.log(JSON.stringify({ seconds, cpu: (user + system) / 1e6, result } satisfies ClientReport));
}
