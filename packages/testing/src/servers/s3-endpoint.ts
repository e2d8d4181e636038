/** A real S3 server that runs, with what tests do to it beside the library. */
import {
  CreateBucketCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutBucketVersioningCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import type { ServerProcess } from "./server-process.ts";

export interface S3Endpoint extends ServerProcess {
  /** What `s3://` needs to be told. */
  readonly config: { readonly endpoint_url: string; readonly key: string; readonly secret: string };
  /** The vendor's own client, of the same server. */
  readonly vendor: S3Client;
  makeBucket(name: string, options?: { versioned?: boolean }): Promise<string>;
  /** How many uploads in parts have begun, and have neither been finished nor taken back. */
  unfinishedUploads(bucket: string): Promise<number>;
  /** Parts that such uploads have so far. */
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
