/** Where a server may keep its blobs: suites that go through files and logs run in each of these places. */
import { startS3Blobs, whyNoVersitygw } from "./s3-blobs.ts";

export interface PlacedBlobs {
  /** What the server must be told. */
  readonly settings: Record<string, string>;
  /** What another server must be told, which uses nothing of the first. */
  another(): Record<string, string>;
  stop(): Promise<void>;
}

interface BlobPlace {
  readonly name: string;
  readonly skip: false | string;
  open(): Promise<PlacedBlobs>;
}

export const blobPlaces: readonly BlobPlace[] = [
  {
    name: "the data folder",
    skip: false,
    open: async () => ({ settings: {}, another: () => ({}), stop: async () => {} }),
  },
  { name: "a bucket of an S3 server", skip: await whyNoVersitygw(), open: startS3Blobs },
];
