/** Where a server may keep its blobs: suites that use files and logs run in each of these places. */
import { startS3Blobs, whyNoVersitygw } from "./s3-blobs.ts";

export interface PlacedBlobs {
  /** Settings of the server. */
  readonly settings: Record<string, string>;
  /** Settings of another server that shares nothing with the first. */
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
