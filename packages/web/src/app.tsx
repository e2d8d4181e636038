/** The screens by path. Each is a chunk of its own, so that a page loads only what it shows. */
import { QueryClientProvider } from "@tanstack/react-query";
import { type ComponentType, lazy, type ReactNode, Suspense } from "react";
import { Redirect, Route, Router, Switch } from "wouter";
import { prefix } from "./api/base.ts";
import { queries } from "./api/calls.ts";
import { useSession } from "./api/session.tsx";
import { TeamContext, teamPath } from "./api/team.tsx";
import { Crash } from "./frame/crash.tsx";
import { Frame } from "./frame/frame.tsx";
import { Session } from "./frame/session.tsx";
import { NotFound } from "./look/not-found.tsx";
import { Empty, Loading } from "./look/states.tsx";

/** The screens of a team, by path below the team. */
const screens: readonly (readonly [string, ComponentType])[] = [
  ["/", lazy(() => import("./home/home-screen.tsx"))],
  ["/editor", lazy(() => import("./editor/editor-screen.tsx"))],
  ["/clusters", lazy(() => import("./clusters/clusters-screen.tsx"))],
  ["/datasets/jobs", lazy(() => import("./jobs/jobs-screen.tsx"))],
  ["/datasets/jobs/:id", lazy(() => import("./jobs/job-screen.tsx"))],
  ["/pipelines", lazy(() => import("./pipelines/pipelines-screen.tsx"))],
  ["/pipelines/new", lazy(() => import("./pipelines/new-pipeline-screen.tsx"))],
  ["/pipelines/:id", lazy(() => import("./pipelines/pipeline-screen.tsx"))],
  ["/schedules", lazy(() => import("./schedules/schedules-screen.tsx"))],
  ["/schedules/new", lazy(() => import("./schedules/new-schedule-screen.tsx"))],
  ["/schedules/backfills/new", lazy(() => import("./schedules/new-backfill-screen.tsx"))],
  ["/schedules/backfills/:id", lazy(() => import("./schedules/backfill-screen.tsx"))],
  ["/schedules/tasks/:id", lazy(() => import("./schedules/task-screen.tsx"))],
  ["/schedules/:id", lazy(() => import("./schedules/schedule-screen.tsx"))],
  ["/datasets", lazy(() => import("./datasets/datasets-screen.tsx"))],
  ["/datasets/:name", lazy(() => import("./datasets/dataset-screen.tsx"))],
  ["/storage", lazy(() => import("./storage/storage-screen.tsx"))],
  ["/settings", lazy(() => import("./settings/settings-screen.tsx"))],
  ["/settings/:tab", lazy(() => import("./settings/settings-screen.tsx"))],
];

const AdministrationScreen = lazy(() => import("./administration/administration-screen.tsx"));

export const App = () => (
  <QueryClientProvider client={queries}>
    <Router base={prefix}>
      <Session>
        <Switch>
          <Route path="/">
            <FirstTeam />
          </Route>
          <Route path="/administration/:tab?">
            <OutsideTeams>
              <AdministrationScreen />
            </OutsideTeams>
          </Route>
          <Route path="/team/:team/*?">{({ team }) => <TeamPages team={team} />}</Route>
          <Route>
            <Frame team={undefined}>
              <NotFound />
            </Frame>
          </Route>
        </Switch>
      </Session>
    </Router>
  </QueryClientProvider>
);

const lastTeam = "millrace.team";

/** The team that this browser showed last, if it is one of the user's; otherwise the first of them. */
function useLastTeam(): string | undefined {
  const { teams } = useSession();
  const last = localStorage.getItem(lastTeam);
  return (teams.find(({ name }) => name === last) ?? teams[0])?.name;
}

function FirstTeam() {
  const { username } = useSession();
  const team = useLastTeam();
  if (team !== undefined) return <Redirect to={teamPath(team)} replace />;
  return (
    <Frame team={undefined}>
      <div className="screen">
        <Empty title="You are not a member of any team yet">
          <p>
            Ask an admin of a team to add the user <b>{username}</b>, or to send you an invitation.
          </p>
        </Empty>
      </div>
    </Frame>
  );
}

function TeamPages({ team }: { team: string }) {
  localStorage.setItem(lastTeam, team);
  return (
    <TeamContext.Provider value={team}>
      <Frame team={team}>
        <Crash>
          <Suspense fallback={<FirstLoad />}>
            <Switch>
              {screens.map(([path, Screen]) => (
                <Route key={path} path={`/team/:team${path}`} component={Screen} />
              ))}
              <Route>
                <NotFound />
              </Route>
            </Switch>
          </Suspense>
        </Crash>
      </Frame>
    </TeamContext.Provider>
  );
}

/** Pages of the whole server. The navigation is that of the last team, as the way back; the pages themselves belong to none. */
function OutsideTeams({ children }: { children: ReactNode }) {
  const team = useLastTeam();
  return (
    <TeamContext.Provider value={team}>
      <Frame team={team}>
        <Crash>
          <Suspense fallback={<FirstLoad />}>
            <TeamContext.Provider value={undefined}>{children}</TeamContext.Provider>
          </Suspense>
        </Crash>
      </Frame>
    </TeamContext.Provider>
  );
}

const FirstLoad = () => (
  <div className="screen">
    <Loading />
  </div>
);
