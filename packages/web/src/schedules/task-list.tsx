/** The tasks of a team: jobs that start at a set time, or repeatedly. */
import { routes, type TaskItem } from "@millrace/contract";
import { Link } from "wouter";
import { useApiPages } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { Command } from "../look/copy-button.tsx";
import { More } from "../look/more.tsx";
import { Empty, Read } from "../look/states.tsx";
import { Status } from "../look/status.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";
import { taskPath } from "../paths/schedule-paths.ts";
import { taskHealthOf } from "./health.ts";
import { PauseTask } from "./pause-task.tsx";
import { When } from "./when.tsx";

export function TaskList() {
  const team = useTeam();
  const tasks = useApiPages(routes.listTasks, { query: {} }, (list) => list);
  return (
    <Read from={tasks}>
      {({ pages }) => {
        const items = pages.flatMap((page) => page.items);
        if (items.length === 0) return <NoTasks />;
        return (
          <>
            <Table label="Tasks" columns={columnsOf(team)} items={items} keyOf={({ id }) => id} />
            <More of={tasks}>Show older tasks</More>
          </>
        );
      }}
    </Read>
  );
}

const columnsOf = (team: string): readonly Column<TaskItem>[] => [
  { title: "Health", cell: (task) => <TaskHealth task={task} /> },
  {
    title: "Name",
    wide: true,
    cell: (task) => (
      <Link href={taskPath(team, task.id)} title={task.name ?? undefined}>
        {task.name ?? task.id}
      </Link>
    ),
  },
  { title: "When", optional: true, cell: (task) => <When times={task} className="wrapped when-cell" /> },
  { title: "Next run", cell: ({ next_run }) => <Time at={next_run} /> },
  { title: "Jobs", number: true, optional: true, cell: ({ fired }) => fired },
  { title: "Skipped", number: true, optional: true, cell: ({ skipped }) => skipped },
  { title: "Owner", optional: true, cell: ({ owner }) => owner },
  { title: "Action", optional: true, cell: (task) => <PauseTask task={task} isSmall /> },
];

/** The health; the reason is its title, and what screen readers say. */
export function TaskHealth({ task }: { task: TaskItem }) {
  return (
    <span title={task.last_error ?? undefined}>
      <Status {...taskHealthOf(task)} />
      {task.last_error !== null && <span className="hidden-text">{`: ${task.last_error}`}</span>}
    </span>
  );
}

const NoTasks = () => (
  <Empty title="No tasks yet">
    <p>A task starts a job at a set time, or repeatedly. From a terminal:</p>
    <Command text="millrace job run report.py --cron '0 7 * * 1-5'" />
  </Empty>
);
