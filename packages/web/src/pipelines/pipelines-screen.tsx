/** The list of a team's pipelines, newest first. */
import { pipelineStatuses, routes } from "@millrace/contract";
import { useApiPages } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { Button } from "../look/button.tsx";
import { Chips } from "../look/chips.tsx";
import { CopyAs } from "../look/copy-as.tsx";
import { Command } from "../look/copy-button.tsx";
import { GoButton } from "../look/go-button.tsx";
import { Screen } from "../look/screen.tsx";
import { SearchField } from "../look/search-field.tsx";
import { Empty, Read } from "../look/states.tsx";
import { toneOf, wordOf } from "../look/status.tsx";
import { newPipelinePath } from "../paths/pipeline-paths.ts";
import { copyPipelines } from "./copy-pipeline.ts";
import { PipelineTable } from "./pipeline-table.tsx";

/** The templates of schedules, which are PENDING, are in no list. */
const states = [
  { value: "", title: "All" },
  ...pipelineStatuses
    .filter((state) => state !== "PENDING")
    .map((value) => ({ value, title: wordOf(value), tone: toneOf(value) })),
];

export default function PipelinesScreen() {
  const [status, setStatus] = useUrlState("status");
  const [search, setSearch] = useUrlState("search");
  const query = { limit: 30, ...(status ? { status: [status] } : {}), ...(search ? { search } : {}) };
  const found = useApiPages(routes.listPipelines, { query }, (list) => list);
  return (
    <Screen
      title="Pipelines"
      actions={
        <>
          <CopyAs actions={[copyPipelines(query)]} />
          <NewPipeline />
        </>
      }
    >
      <div className="row wrap">
        <SearchField label="Search pipelines and datasets" value={search} onSearch={setSearch} />
        <Chips label="Status" options={states} value={status} onChoose={setStatus} />
      </div>
      <Read from={found}>
        {({ pages }) => {
          const pipelines = pages.flatMap((page) => page.items);
          if (pipelines.length === 0) return status || search ? <NoneFound /> : <NoPipelines />;
          return (
            <>
              <PipelineTable pipelines={pipelines} />
              {found.hasNextPage && (
                <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
                  Show older pipelines
                </Button>
              )}
            </>
          );
        }}
      </Read>
    </Screen>
  );
}

function NewPipeline() {
  return (
    <GoButton kind="main" icon="plus" href={newPipelinePath(useTeam())} refusal={useRefusal("editor")}>
      New pipeline
    </GoButton>
  );
}

const NoneFound = () => (
  <Empty title="No pipeline matches">
    <p>Choose another status, or search for a part of a pipeline's or dataset's name.</p>
  </Empty>
);

const NoPipelines = () => (
  <Empty title="No pipelines yet">
    <p>A pipeline rebuilds a dataset: it runs the jobs that created the dataset and its inputs again, in order.</p>
    <Command text="millrace pipeline create DATASET" />
  </Empty>
);
