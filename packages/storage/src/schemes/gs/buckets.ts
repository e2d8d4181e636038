/** Lists the buckets of the project. */
import type { BucketCall, BucketPage } from "../../store-backend.ts";
import { withoutProject } from "./check.ts";
import type { GsClient } from "./client.ts";
import { projectOf } from "./credentials.ts";

interface BucketList {
  readonly items?: readonly { readonly name: string }[];
  readonly nextPageToken?: string;
}

export async function fetchBuckets(client: GsClient, { token, signal }: BucketCall): Promise<BucketPage> {
  const project = await projectOf(client.configuration);
  if (project === undefined) throw withoutProject();
  const page = token === undefined ? {} : { pageToken: token };
  const query = { project, fields: "nextPageToken,items(name)", ...page };
  const request = { method: "GET", path: "/storage/v1/b", key: "", query, signal } as const;
  const { items = [], nextPageToken } = await client.sendForJson<BucketList>(request);
  return { names: items.map(({ name }) => name), next: nextPageToken };
}
