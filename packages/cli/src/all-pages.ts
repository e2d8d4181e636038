/**
 * Reads all pages of a list. The server splits a long list into pages, and returns with each page a cursor for the next
 * one.
 */
import type { Client, Route, RouteInput, RouteOutput } from "@millrace/contract";

/** Reads pages until the end of the list, or until `limit` items were read. */
export async function allPages<R extends Route>(
  client: Client,
  route: R,
  query: Record<string, unknown>,
  limit = Number.POSITIVE_INFINITY,
): Promise<RouteOutput<R>> {
  const items: unknown[] = [];
  for (let cursor: string | undefined; ; ) {
    const left = Number.isFinite(limit) ? { limit: limit - items.length } : {};
    const part = { ...query, ...left, ...(cursor === undefined ? {} : { cursor }) };
    const response = await client.request(route, { query: part } as unknown as RouteInput<R>);
    items.push(...((await response.json()) as unknown[]));
    cursor = response.headers.get("x-next-cursor") ?? undefined;
    if (cursor === undefined || items.length >= limit) return items as RouteOutput<R>;
  }
}
