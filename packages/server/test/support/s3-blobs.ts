/** A bucket of a real S3 server for the blobs of a server. */
import { randomUUID } from "node:crypto";
import { type S3Server, startVersitygw } from "@millrace/testing/servers/versitygw.ts";

export { whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";

export interface S3Blobs {
  readonly s3: S3Server;
  /** Settings with which a server keeps its blobs there. */
  readonly settings: Record<string, string>;
  another(): Record<string, string>;
  stop(): Promise<void>;
}

/** `through`: the address that the server uses, such as a proxy; by default the S3 server itself. */
export async function startS3Blobs(through = async (s3: S3Server) => s3.config.endpoint_url): Promise<S3Blobs> {
  const s3 = await startVersitygw();
  const bucket = await s3.makeBucket(`blobs-${randomUUID()}`);
  const { key, secret } = s3.config;
  const settings = {
    MILLRACE_BLOBS: `s3://${bucket}/some/prefix`,
    AWS_ENDPOINT_URL: await through(s3),
    AWS_ACCESS_KEY_ID: key,
    AWS_SECRET_ACCESS_KEY: secret,
    AWS_REGION: "us-east-1",
  };
  let others = 0;
  const another = () => ({ ...settings, MILLRACE_BLOBS: `s3://${bucket}/another/${++others}` });
  return { s3, settings, another, stop: () => s3.stop() };
}
