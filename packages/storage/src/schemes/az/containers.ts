/** Lists the containers of the account. */
import { elements, elementText } from "../../http/xml.ts";
import type { BucketCall, BucketPage } from "../../store-backend.ts";
import { type AzClient, listRoot } from "./client.ts";

export async function fetchContainers(client: AzClient, { token, signal }: BucketCall): Promise<BucketPage> {
  const query = { comp: "list", ...(token === undefined ? {} : { marker: token }) };
  const xml = await client.sendForText({ method: "GET", key: "", query, signal }, listRoot);
  const names = Array.from(elements(xml, "Container"), ({ start, end }) => elementText(xml, "Name", start, end) ?? "");
  return { names, next: elementText(xml, "NextMarker") || undefined };
}
