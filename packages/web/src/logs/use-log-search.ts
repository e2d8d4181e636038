/** Search in a log: the server finds the lines; the hits stay until the search changes. */
import { type LogHits, routes } from "@millrace/contract";
import { useEffect, useState } from "react";
import { clientOf } from "../api/client.ts";

export interface LogSearch {
  /** Numbers of the lines that were found, from 1, ascending. */
  readonly hits: readonly number[];
  readonly isSearching: boolean;
  /** Whether there are more hits than are kept. */
  readonly isCut: boolean;
  readonly error: unknown;
}

export interface SearchOf {
  readonly team: string;
  readonly id: string;
  readonly attempt: number | undefined;
  readonly text: string;
  readonly isRegex: boolean;
}

const mostHits = 20_000;
const nothing: LogSearch = { hits: [], isSearching: false, isCut: false, error: undefined };

export function useLogSearch({ team, id, attempt, text, isRegex }: SearchOf): LogSearch {
  const [search, setSearch] = useState(nothing);
  useEffect(() => {
    if (text === "") {
      setSearch(nothing);
      return;
    }
    const leaving = new AbortController();
    setSearch({ ...nothing, isSearching: true });
    const pages = pagesOf({ team, id, attempt, text, isRegex }, leaving.signal);
    void collect(pages, (state) => !leaving.signal.aborted && setSearch(state));
    return () => leaving.abort();
  }, [team, id, attempt, text, isRegex]);
  return search;
}

async function* pagesOf({ team, id, attempt, text, isRegex }: SearchOf, signal: AbortSignal): AsyncGenerator<LogHits> {
  const params = { job_id: id };
  for (let first_line: number | null = 1; first_line !== null; ) {
    const query = {
      text,
      kind: isRegex ? ("regex" as const) : ("literal" as const),
      limit: 1000,
      first_line,
      ...(attempt === undefined ? {} : { attempt }),
    };
    const page: LogHits = await clientOf(team).call(routes.searchLog, { params, query }, { signal });
    yield page;
    first_line = page.next;
  }
}

async function collect(pages: AsyncIterable<LogHits>, show: (search: LogSearch) => void): Promise<void> {
  const hits: number[] = [];
  try {
    for await (const page of pages) {
      hits.push(...page.hits.map(({ line }) => line));
      const isCut = hits.length >= mostHits;
      show({ hits: [...hits], isSearching: !isCut && page.next !== null, isCut, error: undefined });
      if (isCut) return;
    }
  } catch (error) {
    show({ hits, isSearching: false, isCut: false, error });
  }
}

/** Finds the next line that looks like an error after a line, or from the beginning. Undefined if there is none. */
export async function nextError(
  { team, id, attempt }: Pick<SearchOf, "team" | "id" | "attempt">,
  after: number,
): Promise<number | undefined> {
  const params = { job_id: id };
  const find = async (from: number) => {
    for (let first_line: number | null = from; first_line !== null; ) {
      const query = { kind: "errors" as const, limit: 1, first_line, ...(attempt === undefined ? {} : { attempt }) };
      const page: LogHits = await clientOf(team).call(routes.searchLog, { params, query });
      const [hit] = page.hits;
      if (hit) return hit.line;
      first_line = page.next;
    }
    return undefined;
  };
  return (await find(after + 1)) ?? (after > 0 ? find(1) : undefined);
}
