/** What the clients that are compared are told to do, and what they say afterwards. */

export interface ClientTask {
  readonly kind: "list" | "get" | "download" | "upload";
  readonly scheme: "s3" | "gs" | "az";
  /** As the storage library takes it, and the Python libraries whose parameters these are. */
  readonly config: Readonly<Record<string, string>>;
  readonly bucket: string;
  /** How many small objects are read. */
  readonly count: number;
  /** How many there are: they are read in turn. */
  readonly objects: number;
  /** Requests, or parts of one object, at once. */
  readonly concurrency: number;
  /** Bytes of a part or a range. */
  readonly block: number;
  /** Where a download goes, and what is uploaded. */
  readonly file: string;
}

export interface ClientReport {
  readonly seconds: number;
  /** Of the processor. */
  readonly cpu: number;
  /** Keys or bytes, so that nobody is fast by leaving something out. */
  readonly result: number;
}

/** The time of loading, starting and connecting is not counted: every client reads an object before. */
export async function report(run: () => Promise<number>): Promise<void> {
  const used = process.cpuUsage();
  const begin = performance.now();
  const result = await run();
  const seconds = (performance.now() - begin) / 1000;
  const { user, system } = process.cpuUsage(used);
  console.log(JSON.stringify({ seconds, cpu: (user + system) / 1e6, result } satisfies ClientReport));
}
