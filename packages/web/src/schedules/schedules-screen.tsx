/** Everything that starts by itself: schedules of pipelines, tasks, what comes next, and backfills. */
import type { ReactNode } from "react";
import { useRefusal } from "../api/session.tsx";
import { teamPath, useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { ButtonLink } from "../look/button.tsx";
import { CopyAs } from "../look/copy-as.tsx";
import { Screen, Tabs } from "../look/screen.tsx";
import { newBackfillPath, newSchedulePath, schedulesPath } from "../paths/schedule-paths.ts";
import { BackfillList } from "./backfill-list.tsx";
import { copyLists } from "./copy-schedule.ts";
import { ScheduleList } from "./schedule-list.tsx";
import { TaskList } from "./task-list.tsx";
import { UpcomingList } from "./upcoming-list.tsx";

const tabs: readonly (readonly [string, string, () => ReactNode])[] = [
  ["", "Schedules", ScheduleList],
  ["tasks", "Tasks", TaskList],
  ["upcoming", "Upcoming", UpcomingList],
  ["backfills", "Backfills", BackfillList],
];

/** What the button of a tab creates, and where. A task is a job with a time. */
const newOf = (team: string, tab: string): readonly [string, string] => {
  if (tab === "backfills") return [newBackfillPath(team), "New backfill"];
  return tab === "tasks" ? [teamPath(team, "/editor?start=cron"), "New task"] : [newSchedulePath(team), "New schedule"];
};

export default function SchedulesScreen() {
  const team = useTeam();
  const [tab] = useUrlState("tab");
  const refusal = useRefusal("editor");
  const [, , List] = tabs.find(([name]) => name === tab) ?? ["", "", ScheduleList];
  const [href, title] = newOf(team, tab);
  return (
    <Screen
      title="Schedules"
      actions={
        <>
          <CopyAs actions={[copyLists[tab] ?? copyLists[""]].filter((one) => one !== undefined)} />
          <ButtonLink kind="main" icon="plus" href={href} refusal={refusal}>
            {title}
          </ButtonLink>
        </>
      }
    >
      <Tabs
        label="Kinds of schedules"
        tabs={tabs.map(([name, words]) => ({ href: schedulesPath(team, name), title: words }))}
        current={schedulesPath(team, tab)}
      />
      <List />
    </Screen>
  );
}
