/** Creates the bucket in the signing region. */
import type { CallOptions } from "../../backend.ts";
import { makeBucket } from "../../http/make-bucket.ts";
import { escapeText } from "../../http/xml.ts";
import type { S3Client } from "./client.ts";
import { standardRegion } from "./region.ts";

export async function createBucket(client: S3Client, { signal }: CallOptions): Promise<void> {
  const body = Buffer.from(configurationOf(await client.region()));
  await makeBucket(client.place(""), client.send({ call: "make", method: "PUT", key: "", body, signal }));
}

/**
 * Returns the request body, which names the region. For us-east-1, the default, the body is empty, because the store
 * refuses this name.
 */
function configurationOf(region: string): string {
  if (region === standardRegion) return "";
  const namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
  const place = `<LocationConstraint>${escapeText(region)}</LocationConstraint>`;
  return `<CreateBucketConfiguration xmlns="${namespace}">${place}</CreateBucketConfiguration>`;
}
