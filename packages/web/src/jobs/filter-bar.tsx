/** The filters above the list of jobs. */
import { routes } from "@millrace/contract";
import { useEffect, useState } from "react";
import { useApi } from "../api/calls.ts";
import { Button } from "../look/button.tsx";
import { Chips } from "../look/chips.tsx";
import { Choice, TextField } from "../look/field.tsx";
import { SearchField } from "../look/search-field.tsx";
import "./filter-bar.css";
import { chipNames, chipsOf, type FilterName, isFiltered, spanTitles, statusChips, toggleChip } from "./job-filters.ts";
import { useFilters } from "./use-filters.ts";

/** Filters that are folded away until they are used. */
const rare: readonly FilterName[] = ["by", "tag", "cluster", "name", "since", "from", "to"];

const chips = chipNames.map((value) => ({ value, ...statusChips[value] }));

export function FilterBar() {
  const { filters, change, clear } = useFilters();
  const used = rare.filter((name) => filters[name] !== "").length;
  const [open, setOpen] = useState(used > 0);
  return (
    <search className="filter-bar stack tight">
      <div className="row wrap">
        <SearchField label="Search names and scripts" value={filters.q} onSearch={(q) => change({ q }, true)} />
        <Chips
          label="States"
          options={chips}
          value={chipsOf(filters)}
          onChoose={(chip) => change({ status: toggleChip(filters, chip) })}
        />
        <Button kind="bare" icon="down" aria-expanded={open} onClick={() => setOpen(!open)}>
          {used > 0 ? `Filters (${used})` : "Filters"}
        </Button>
        {isFiltered(filters) && (
          <Button kind="bare" icon="cross" onClick={clear}>
            Clear
          </Button>
        )}
      </div>
      {open && <MoreFilters />}
    </search>
  );
}

/** Milliseconds after the last key until the list is searched. */
const pause = 200;

/** A field of which the URL has the value: it follows the URL, and changes it when the typing pauses. */
function useTyped(name: FilterName): [string, (text: string) => void] {
  const { filters, change } = useFilters();
  const known = filters[name];
  const [typed, setTyped] = useState(known);
  useEffect(() => setTyped(known), [known]);
  useEffect(() => {
    if (typed === known) return;
    const timer = setTimeout(() => change({ [name]: typed }, true), pause);
    return () => clearTimeout(timer);
    // `change` is new at every drawing, and the URL must not undo what is being typed.
  }, [typed]);
  return [typed, setTyped];
}

function MoreFilters() {
  const { filters, change } = useFilters();
  return (
    <div className="more-filters">
      <Typed name="by" label="Created by" />
      <Typed name="tag" label="Tags" placeholder="nightly, gpu" />
      <Typed name="name" label="Exact name" />
      <ClusterChoice />
      <Choice label="Created" value={filters.since} onText={(since) => change({ since, from: "", to: "" })}>
        <option value="">Any time</option>
        {Object.entries(spanTitles).map(([span, title]) => (
          <option key={span} value={span}>
            {title}
          </option>
        ))}
      </Choice>
      <TextField
        label="From"
        type="datetime-local"
        value={filters.from}
        onText={(from) => change({ from, since: "" }, true)}
      />
      <TextField label="To" type="datetime-local" value={filters.to} onText={(to) => change({ to, since: "" }, true)} />
    </div>
  );
}

function Typed({ name, label, placeholder }: { name: FilterName; label: string; placeholder?: string }) {
  const [typed, setTyped] = useTyped(name);
  return <TextField label={label} value={typed} onText={setTyped} {...(placeholder ? { placeholder } : {})} />;
}

function ClusterChoice() {
  const { filters, change } = useFilters();
  const names = (useApi(routes.listClusters, { query: {} }).data ?? []).map(({ name }) => name);
  const all = filters.cluster === "" || names.includes(filters.cluster) ? names : [...names, filters.cluster];
  return (
    <Choice label="Cluster" value={filters.cluster} onText={(cluster) => change({ cluster })}>
      <option value="">Any</option>
      {all.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </Choice>
  );
}
