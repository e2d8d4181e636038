/** The page of a pipeline: its graph, its jobs as a list and on a line of time, its last runs, its settings. */
import { type Pipeline, routes } from "@millrace/contract";
import type { ComponentType } from "react";
import { useParams, useSearchParams } from "wouter";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { Screen, Tabs } from "../look/screen.tsx";
import { NotRead } from "../look/states.tsx";
import { Status, wordOf } from "../look/status.tsx";
import { pipelinePath, pipelinesPath } from "../paths/pipeline-paths.ts";
import { GanttView } from "./gantt-view.tsx";
import { GraphView } from "./graph-view.tsx";
import { PipelineActions } from "./pipeline-buttons.tsx";
import { PipelineFacts } from "./pipeline-facts.tsx";
import { ReviewNotice } from "./review-notice.tsx";
import { RunsView } from "./runs-view.tsx";
import { SettingsView } from "./settings-view.tsx";
import { TableView } from "./table-view.tsx";

/** The path names a pipeline by its id, or by its name, which is unique in the team and never looks like an id. */
const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export default function PipelineScreen() {
  const { id = "" } = useParams();
  const team = useTeam();
  const key = decodeURIComponent(id);
  const found = useApi(routes.getPipeline, { query: isId.test(key) ? { pipeline_id: key } : { name: key } });
  const { pipeline_id, name } = found.data ?? {};
  // The page of another pipeline must not stay while this one is read.
  if (found.data && (pipeline_id === key || name === key)) return <PipelinePage pipeline={found.data} />;
  return (
    <Screen title="Pipeline">
      <NotRead from={found} list={{ href: pipelinesPath(team), title: "All pipelines" }} />
    </Screen>
  );
}

const views: Readonly<Record<string, readonly [string, ComponentType<{ pipeline: Pipeline }>]>> = {
  graph: ["Graph", GraphView],
  list: ["Jobs", TableView],
  gantt: ["Timeline", GanttView],
  runs: ["Last runs", RunsView],
  settings: ["Settings", SettingsView],
};

function PipelinePage({ pipeline }: { pipeline: Pipeline }) {
  const [view] = useUrlState("view", "graph");
  const [params] = useSearchParams();
  const path = pipelinePath(useTeam(), pipeline.pipeline_id);
  const pathOf = (name: string) => {
    const search = new URLSearchParams(params);
    if (name === "graph") search.delete("view");
    else search.set("view", name);
    return search.size > 0 ? `${path}?${search}` : path;
  };
  const tabs = Object.entries(views).map(([name, [title]]) => ({ href: pathOf(name), title }));
  const View = views[view]?.[1] ?? GraphView;
  return (
    <Screen
      title={pipeline.name}
      tab={`${wordOf(pipeline.status)} ${pipeline.completed}/${pipeline.total}: ${pipeline.name}`}
      beside={<Status status={pipeline.status} />}
      actions={<PipelineActions pipeline={pipeline} />}
    >
      <PipelineFacts pipeline={pipeline} />
      <ReviewNotice pipeline={pipeline} />
      <Tabs label="Parts of the pipeline" tabs={tabs} current={pathOf(view)} />
      <View pipeline={pipeline} />
    </Screen>
  );
}
