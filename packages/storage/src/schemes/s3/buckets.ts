/** Lists the buckets of the account that the credentials belong to. */
import { elements, elementText } from "../../http/xml.ts";
import type { BucketCall, BucketPage } from "../../store-backend.ts";
import type { S3Client } from "./client.ts";

/**
 * Number of buckets per page. Without a page size, the store refuses the request for accounts with very many buckets.
 */
const pageSize = "1000";

export async function fetchBuckets(client: S3Client, { token, signal }: BucketCall): Promise<BucketPage> {
  const query = { "max-buckets": pageSize, ...(token === undefined ? {} : { "continuation-token": token }) };
  const root = "ListAllMyBucketsResult";
  const xml = await client.sendForText({ call: "list", method: "GET", key: "", query, root, signal });
  const names = Array.from(elements(xml, "Bucket"), ({ start, end }) => elementText(xml, "Name", start, end) ?? "");
  return { names, next: elementText(xml, "ContinuationToken") || undefined };
}
