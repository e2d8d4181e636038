/** The list of a team's datasets, by name. */
import { type ListedDataset, routes } from "@millrace/contract";
import { useApiPages } from "../api/calls.ts";
import { useUrlChange, useUrlState } from "../api/url-state.ts";
import { Button } from "../look/button.tsx";
import { CopyAs } from "../look/copy-as.tsx";
import { Command } from "../look/copy-button.tsx";
import { Check } from "../look/field.tsx";
import { Screen } from "../look/screen.tsx";
import { SearchField } from "../look/search-field.tsx";
import { Empty, Read } from "../look/states.tsx";
import { copyDatasets } from "./copy-dataset.ts";
import { DatasetTable } from "./dataset-table.tsx";
import "./datasets.css";

export default function DatasetsScreen() {
  const [search] = useUrlState("q");
  const [place] = useUrlState("place");
  const [removed] = useUrlState("removed");
  const query = {
    limit: 50,
    ...(search ? { search } : {}),
    ...(place ? { prefix: `${place}.` } : {}),
    ...(removed ? { include_removed: true } : {}),
  };
  const datasets = useApiPages(routes.listDatasets, { query }, (list) => list);
  return (
    <Screen title="Datasets" actions={<CopyAs actions={[copyDatasets(query)]} />}>
      <Filters />
      <Read from={datasets}>
        {({ pages }) => (
          <>
            <Found datasets={pages.flatMap((page) => page.items)} isFiltered={search !== "" || place !== ""} />
            {datasets.hasNextPage && (
              <Button busy={datasets.isFetchingNextPage} onClick={() => void datasets.fetchNextPage()}>
                Show more datasets
              </Button>
            )}
          </>
        )}
      </Read>
    </Screen>
  );
}

function Filters() {
  const [search, setSearch] = useUrlState("q");
  const [place, setPlace] = useUrlState("place");
  const [removed, setRemoved] = useUrlState("removed");
  return (
    <search className="dataset-filters row wrap">
      <SearchField
        label="Search names of datasets"
        value={search}
        onSearch={(text) => setSearch(text, { replace: true })}
      />
      <Check label="Show removed ones, too" checked={removed !== ""} onCheck={(is) => setRemoved(is ? "yes" : "")} />
      {place !== "" && (
        <Button icon="cross" onClick={() => setPlace("")} aria-label={`Show all projects, not only ${place}`}>
          Only in <span className="mono">{place}</span>
        </Button>
      )}
    </search>
  );
}

function Found({ datasets, isFiltered }: { datasets: readonly ListedDataset[]; isFiltered: boolean }) {
  const change = useUrlChange();
  if (datasets.length > 0) return <DatasetTable datasets={datasets} />;
  if (!isFiltered) return <NoDatasets />;
  return (
    <Empty title="No dataset matches">
      <p>
        <Button icon="cross" onClick={() => change({ q: "", place: "" })}>
          Clear the filters
        </Button>
      </p>
    </Empty>
  );
}

const example = `import datachain as dc

dc.read_values(number=[1, 2, 3]).save("numbers")`;

const NoDatasets = () => (
  <Empty title="No datasets yet">
    <p>A dataset is saved by a job. Write this into a file numbers.py:</p>
    <div className="example">
      <Command text={example} />
    </div>
    <p>Then run it:</p>
    <div className="example">
      <Command text="millrace job run numbers.py" />
    </div>
  </Empty>
);
