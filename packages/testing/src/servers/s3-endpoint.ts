/** A running S3 server, with operations that tests need and the storage library does not have. */
import {
  CreateBucketCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutBucketVersioningCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import type { ServerProcess } from "./server-process.ts";

export interface S3Endpoint extends ServerProcess {
  /** Configuration for `s3://`. */
  readonly config: { readonly endpoint_url: string; readonly key: string; readonly secret: string };
  /** The vendor's own client for the same server. */
  readonly vendor: S3Client;
  makeBucket(name: string, options?: { versioned?: boolean }): Promise<string>;
  /** Number of multipart uploads that are neither completed nor aborted. */
  unfinishedUploads(bucket: string): Promise<number>;
  /** Number of parts of all these unfinished uploads so far. */
  unfinishedParts(bucket: string): Promise<number>;
}

export function s3Endpoint(server: ServerProcess, config: S3Endpoint["config"]): S3Endpoint {
  const vendor = new S3Client({
    endpoint: config.endpoint_url,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: { accessKeyId: config.key, secretAccessKey: config.secret },
  });
  return {
    ...server,
    config,
    vendor,
    makeBucket: (name, options) => makeBucket(vendor, name, options?.versioned ?? false),
    async unfinishedUploads(Bucket) {
      const { Uploads = [] } = await vendor.send(new ListMultipartUploadsCommand({ Bucket }));
      return Uploads.length;
    },
    async unfinishedParts(Bucket) {
      const { Uploads = [] } = await vendor.send(new ListMultipartUploadsCommand({ Bucket }));
      const parts = Uploads.map(({ Key, UploadId }) => vendor.send(new ListPartsCommand({ Bucket, Key, UploadId })));
      return (await Promise.all(parts)).flatMap(({ Parts = [] }) => Parts).length;
    },
    async stop() {
      vendor.destroy();
      await server.stop();
    },
  };
}

async function makeBucket(vendor: S3Client, name: string, versioned: boolean): Promise<string> {
  await vendor.send(new CreateBucketCommand({ Bucket: name }));
  const enabled = { Bucket: name, VersioningConfiguration: { Status: "Enabled" } } as const;
  if (versioned) await vendor.send(new PutBucketVersioningCommand(enabled));
  return name;
}
