/** The filters of the list of jobs, kept in the URL. */
import { useSearchParams } from "wouter";
import { type FilterName, type Filters, filterNames, readFilters } from "./job-filters.ts";

interface FilterState {
  readonly filters: Filters;
  /** Changes filters. With `replace`, the browser's history gets no new entry: for text that is being typed. */
  readonly change: (changes: Partial<Record<FilterName, string>>, replace?: boolean) => void;
  readonly clear: () => void;
}

export function useFilters(): FilterState {
  const [params, setParams] = useSearchParams();
  const change: FilterState["change"] = (changes, replace = false) =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        for (const [name, value] of Object.entries(changes)) {
          if (value === "") after.delete(name);
          else after.set(name, value);
        }
        return after;
      },
      { replace },
    );
  const clear = () => change(Object.fromEntries(filterNames.map((name) => [name, ""])));
  return { filters: readFilters(params), change, clear };
}
