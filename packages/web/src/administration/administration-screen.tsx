/** The administration of the server. The last part of the path is the tab. */
import { useSession } from "../api/session.tsx";
import { Screen } from "../look/screen.tsx";
import { Empty } from "../look/states.tsx";
import { TabbedScreen } from "../look/tabbed-screen.tsx";
import { AuditTab } from "./audit-tab.tsx";
import { ClustersTab } from "./clusters-tab.tsx";
import { DoctorTab } from "./doctor-tab.tsx";
import { SystemTab } from "./system-tab.tsx";
import { TeamsTab } from "./teams-tab.tsx";
import { UsersTab } from "./users-tab.tsx";

export default function AdministrationScreen() {
  const { is_admin, username } = useSession();
  if (!is_admin) return <Forbidden username={username} />;
  return (
    <TabbedScreen
      title="Administration"
      pathOf={(name) => `/administration/${name}`}
      parts={[
        { name: "system", title: "System", content: SystemTab },
        { name: "doctor", title: "Doctor", content: DoctorTab },
        { name: "users", title: "Users", content: UsersTab },
        { name: "teams", title: "Teams", content: TeamsTab },
        { name: "clusters", title: "Clusters", content: ClustersTab },
        { name: "audit", title: "Audit", content: AuditTab },
      ]}
    />
  );
}

const Forbidden = ({ username }: { username: string }) => (
  <Screen title="Administration">
    <Empty title="Only administrators of the server can see this">
      <p>
        You are signed in as <b>{username}</b>. Ask an administrator to make you one.
      </p>
    </Empty>
  </Screen>
);
