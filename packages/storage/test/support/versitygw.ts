/** versitygw: a real S3 server over a folder, with versions. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  CreateBucketCommand,
  ListMultipartUploadsCommand,
  PutBucketVersioningCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { programPath, whyNoProgram } from "./program.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

const program = { name: "versitygw", version: "1.8.0", source: "github.com/versity/versitygw/cmd/versitygw" };

export const whyNoVersitygw = () => whyNoProgram(program);

export interface S3Server extends ServerProcess {
  /** What `s3://` needs to be told. */
  readonly config: { readonly endpoint_url: string; readonly key: string; readonly secret: string };
  /** The vendor's own client, of the same server. */
  readonly vendor: S3Client;
  /** Where the objects are files. */
  readonly data: string;
  makeBucket(name: string, options?: { versioned?: boolean }): Promise<string>;
  /** How many uploads in parts have begun, and have neither been finished nor taken back. */
  unfinishedUploads(bucket: string): Promise<number>;
}

const key = "test-key";
const secret = "test-secret-of-the-tests";

export async function startVersitygw(): Promise<S3Server> {
  const server = await startServer("versitygw", async (port, folder) => {
    await mkdir(join(folder, "data"));
    await mkdir(join(folder, "versions"));
    const backend = ["posix", "--versioning-dir", join(folder, "versions"), join(folder, "data")];
    return {
      program: programPath(program),
      words: ["--quiet", "--port", `127.0.0.1:${port}`, ...backend],
      environment: { ROOT_ACCESS_KEY: key, ROOT_SECRET_KEY: secret },
    };
  });
  const endpoint_url = `http://127.0.0.1:${server.port}`;
  const vendor = new S3Client({
    endpoint: endpoint_url,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: { accessKeyId: key, secretAccessKey: secret },
  });
  return {
    ...server,
    config: { endpoint_url, key, secret },
    vendor,
    data: join(server.folder, "data"),
    makeBucket: (name, options) => makeBucket(vendor, name, options?.versioned ?? false),
    async unfinishedUploads(Bucket) {
      const { Uploads = [] } = await vendor.send(new ListMultipartUploadsCommand({ Bucket }));
      return Uploads.length;
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
