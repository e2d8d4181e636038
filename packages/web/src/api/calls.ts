/** Hooks that call routes of the contract: one for reading, one for lists in pages, one for changes. */
import { type Route, type RouteInput, type RouteOutput, routes } from "@millrace/contract";
import {
  keepPreviousData,
  QueryCache,
  QueryClient,
  type UseQueryOptions,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useContext } from "react";
import { clientOf, isSignedOut, mayPass } from "./client.ts";
import { TeamContext } from "./team.tsx";

/** If a call finds that the session has ended, asks who this is, which leads to the sign-in. */
const cache = new QueryCache({
  onError: (error, { queryKey }) => {
    const whoAmI = routes.whoAmI.id;
    if (isSignedOut(error) && queryKey[0] !== whoAmI) void queries.invalidateQueries({ queryKey: [whoAmI] });
  },
});

export const queries = new QueryClient({
  queryCache: cache,
  defaultOptions: {
    queries: {
      // Notices of the live stream say when data has changed; see live.ts.
      staleTime: 30_000,
      retry: (count, error) => mayPass(error) && count < 1000,
      retryDelay: (count) => Math.min(10_000, 500 * 2 ** count),
      // The browser's own notion of being online is wrong for a server on this machine.
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

type ReadOptions = Pick<UseQueryOptions, "enabled" | "refetchInterval" | "staleTime">;

/** The key of a call in the cache. The route's id is first, so that a notice can name it. */
const keyOf = (route: Route, team: string | undefined, input: unknown) => [route.id, team, input] as const;

/** Reads a route. The old answer stays while a changed input is being read. */
export function useApi<R extends Route>(route: R, input: RouteInput<R>, options: ReadOptions = {}) {
  const team = useContext(TeamContext);
  return useQuery<RouteOutput<R>>({
    queryKey: keyOf(route, team, input),
    queryFn: ({ signal }) => clientOf(team).call(route, input, { signal }),
    placeholderData: keepPreviousData,
    ...(options as object),
  });
}

interface Page<T> {
  readonly items: T[];
  readonly next: string | undefined;
}

/** Reads a list in pages: the header `x-next-cursor` of a page is the `cursor` of the next one. */
export function useApiPages<R extends Route, T>(
  route: R,
  input: RouteInput<R>,
  items: (answer: RouteOutput<R>) => T[],
  options: ReadOptions = {},
) {
  const team = useContext(TeamContext);
  return useInfiniteQuery<Page<T>, Error, { pages: Page<T>[] }, readonly unknown[], string | undefined>({
    queryKey: keyOf(route, team, ["pages", input]),
    initialPageParam: undefined,
    queryFn: async ({ signal, pageParam }) => {
      const query = { ...(input as { query?: object }).query, ...(pageParam ? { cursor: pageParam } : {}) };
      const response = await clientOf(team).request(route, { ...(input as object), query } as RouteInput<R>, {
        signal,
      });
      const answer = (await response.json()) as RouteOutput<R>;
      return { items: items(answer), next: response.headers.get("x-next-cursor") ?? undefined };
    },
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
    ...(options as object),
  });
}

/** Maximum number of milliseconds that an action waits until the lists are read again. */
const patience = 5000;
const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Calls a route that changes something. Every list is read again after it. `onDone` is called before that, so that a page
 * can be left whose object no longer exists.
 */
export function useAction<R extends Route>(route: R, onDone?: (output: RouteOutput<R>) => void) {
  const team = useContext(TeamContext);
  const cache = useQueryClient();
  return useMutation<RouteOutput<R>, Error, RouteInput<R>>({
    mutationFn: (input) => clientOf(team).call(route, input),
    onSuccess: (output) => onDone?.(output),
    onSettled: async (_output, error) => {
      await sleep(0);
      const reading = cache.invalidateQueries();
      // If nothing can be read either, the error of the action must not wait for it.
      if (!error) await Promise.race([reading, sleep(patience)]);
    },
  });
}
