/** The page of a schedule: how it does, when it runs next, what it did so far, its settings. */
import { type PipelineSchedule, routes } from "@millrace/contract";
import { useParams } from "wouter";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { CopyAs } from "../look/copy-as.tsx";
import { Screen, Tabs } from "../look/screen.tsx";
import { NotRead } from "../look/states.tsx";
import { wordOf } from "../look/status.tsx";
import { schedulePath, schedulesPath } from "../paths/schedule-paths.ts";
import { copySchedule } from "./copy-schedule.ts";
import { Firings } from "./firings.tsx";
import { healthOf } from "./health.ts";
import { PauseSchedule } from "./pause-schedule.tsx";
import { RemoveSchedule } from "./remove-schedule.tsx";
import { Health } from "./schedule-list.tsx";
import { ScheduleOverview } from "./schedule-overview.tsx";
import { ScheduleSettings } from "./schedule-settings.tsx";
import { TakeOverSchedule } from "./take-over.tsx";

export default function ScheduleScreen() {
  const { id = "" } = useParams();
  const team = useTeam();
  const found = useApi(routes.getSchedule, { query: { schedule_id: Number(id) } });
  // The page of another schedule must not stay while this one is read.
  if (found.data && String(found.data.id) === id) return <SchedulePage schedule={found.data} />;
  return (
    <Screen title="Schedule">
      <NotRead from={found} list={{ href: schedulesPath(team), title: "All schedules" }} />
    </Screen>
  );
}

const tabs = [
  ["", "Overview"],
  ["history", "History"],
  ["settings", "Settings"],
] as const;

function SchedulePage({ schedule }: { schedule: PipelineSchedule }) {
  const team = useTeam();
  const [tab] = useUrlState("tab");
  const { status, word = wordOf(status) } = healthOf(schedule);
  return (
    <Screen
      title={schedule.schedule_name}
      tab={`${word}: ${schedule.schedule_name}`}
      beside={<Health schedule={schedule} />}
      actions={
        <>
          <PauseSchedule schedule={schedule} />
          <TakeOverSchedule schedule={schedule} />
          <RemoveSchedule schedule={schedule} />
          <CopyAs actions={copySchedule(schedule)} />
        </>
      }
    >
      <Tabs
        label="Parts of the schedule"
        tabs={tabs.map(([name, title]) => ({ href: schedulePath(team, schedule.id, name), title }))}
        current={schedulePath(team, schedule.id, tab)}
      />
      {tab === "history" && <Firings schedule={schedule} />}
      {tab === "settings" && <ScheduleSettings key={schedule.id} schedule={schedule} />}
      {tab !== "history" && tab !== "settings" && <ScheduleOverview schedule={schedule} />}
    </Screen>
  );
}
