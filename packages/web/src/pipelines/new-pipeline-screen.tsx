/** The form for a new pipeline: choose datasets, then review the jobs or start them at once. */
import { type ListedDataset, routes } from "@millrace/contract";
import { useState } from "react";
import { useLocation } from "wouter";
import { useAction, useApi } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { Button } from "../look/button.tsx";
import { CopyAs } from "../look/copy-as.tsx";
import { Check } from "../look/field.tsx";
import { Screen } from "../look/screen.tsx";
import { SearchField } from "../look/search-field.tsx";
import { Empty, Problem, Read } from "../look/states.tsx";
import "./new-pipeline.css";
import { pipelinePath } from "../paths/pipeline-paths.ts";
import { copyTrigger } from "./copy-pipeline.ts";

export default function NewPipelineScreen() {
  const [text, setText] = useUrlState("dataset");
  const chosen = text.split(" ").filter(Boolean);
  const choose = (names: readonly string[]) => setText([...new Set(names)].join(" "));
  return (
    <Screen title="New pipeline">
      <p className="soft">
        A pipeline rebuilds datasets: it runs the jobs that created them, and the jobs that created their inputs, again
        and in order. Each job creates new versions.
      </p>
      <div className="new-pipeline">
        <Datasets chosen={chosen} choose={choose} />
        <Chosen chosen={chosen} choose={choose} />
      </div>
    </Screen>
  );
}

interface ChoiceProps {
  readonly chosen: readonly string[];
  readonly choose: (names: readonly string[]) => void;
}

const most = 50;
const fullName = ({ name, project }: ListedDataset) => `${project.namespace.name}.${project.name}.${name}`;

function Datasets({ chosen, choose }: ChoiceProps) {
  const [search, setSearch] = useState("");
  const found = useApi(routes.listDatasets, { query: { limit: most, ...(search ? { search } : {}) } });
  return (
    <section className="stack tight" aria-label="Datasets of the team">
      <div className="row wrap apart">
        <h2>Datasets of the team</h2>
        <SearchField label="Search datasets" value={search} onSearch={setSearch} />
      </div>
      <Read from={found}>
        {(datasets) => (
          <div className="card stack tight">
            {datasets.length === 0 && <NoDatasets search={search} />}
            {datasets.map((dataset) => (
              <DatasetCheck key={dataset.id} dataset={dataset} chosen={chosen} choose={choose} />
            ))}
            {datasets.length === most && <p className="small soft">{`The first ${most}. Type a part of a name.`}</p>}
          </div>
        )}
      </Read>
    </section>
  );
}

const NoDatasets = ({ search }: { search: string }) => (
  <Empty title={search ? "No dataset has this in its name" : "No datasets yet"}>
    <p>{search ? "Type a part of a name." : "Jobs create datasets, and a pipeline repeats those jobs."}</p>
  </Empty>
);

function DatasetCheck({ dataset, chosen, choose }: ChoiceProps & { dataset: ListedDataset }) {
  const name = fullName(dataset);
  const newest = dataset.versions.at(-1);
  return (
    <Check
      label={
        <>
          {name}
          {newest && <span className="soft small">{` @${newest.version}`}</span>}
        </>
      }
      checked={chosen.includes(name)}
      onCheck={(checked) => choose(checked ? [...chosen, name] : chosen.filter((one) => one !== name))}
    />
  );
}

function Chosen({ chosen, choose }: ChoiceProps) {
  const team = useTeam();
  const [, go] = useLocation();
  const refusal = useRefusal("editor");
  const [review, setReview] = useState(true);
  const { mutate, isPending, error } = useAction(routes.triggerPipeline);
  const create = () =>
    mutate(
      { body: { datasets: [...chosen], review } },
      { onSuccess: ({ pipeline }) => go(pipelinePath(team, pipeline.pipeline_id)) },
    );
  return (
    <section className="card stack" aria-label="The pipeline">
      <h2>{chosen.length === 1 ? "Rebuild 1 dataset" : `Rebuild ${chosen.length} datasets`}</h2>
      {chosen.length === 0 && <p className="soft">Choose at least one dataset, or type a name with its version.</p>}
      <ul className="chosen">
        {chosen.map((name) => (
          <li key={name} className="row apart">
            <span>{name}</span>
            <Button
              kind="bare"
              icon="cross"
              aria-label={`Leave out ${name}`}
              onClick={() => choose(chosen.filter((one) => one !== name))}
            />
          </li>
        ))}
      </ul>
      <AddByName onAdd={(name) => choose([...chosen, name])} />
      <Check label="Review the jobs before they start" checked={review} onCheck={setReview} />
      <Problem error={error} />
      <Button
        kind="main"
        busy={isPending}
        refusal={refusal ?? (chosen.length === 0 ? "Choose a dataset first." : undefined)}
        onClick={create}
      >
        {review ? "Create for review" : "Create and start"}
      </Button>
      <CopyAs actions={[copyTrigger(chosen, review)]} />
    </section>
  );
}

function AddByName({ onAdd }: { onAdd: (name: string) => void }) {
  const [name, setName] = useState("");
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() === "") return;
        onAdd(name.trim().replaceAll(/\s+/g, ""));
        setName("");
      }}
    >
      <input
        aria-label="Name of a dataset, with a version if you like"
        placeholder="name or name@1.0.2"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <Button type="submit">Add</Button>
    </form>
  );
}
