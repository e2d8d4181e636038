/** The settings: your own, and those of the team. The last part of the path is the tab. */
import { useTeam } from "../api/team.tsx";
import { TabbedScreen } from "../look/tabbed-screen.tsx";
import { settingsPath } from "../paths/settings-paths.ts";
import { CredentialsTab } from "./credentials-tab.tsx";
import { InvitationsTab } from "./invitations-tab.tsx";
import { MembersTab } from "./members-tab.tsx";
import { NotificationsTab } from "./notifications-tab.tsx";
import { ProfileTab } from "./profile-tab.tsx";
import { ServiceAccountTab } from "./service-account-tab.tsx";
import "./settings.css";
import { TeamTab } from "./team-tab.tsx";
import { TokensTab } from "./tokens-tab.tsx";
import { WebhooksTab } from "./webhooks-tab.tsx";

export default function SettingsScreen() {
  const team = useTeam();
  return (
    <TabbedScreen
      title="Settings"
      pathOf={(name) => settingsPath(team, name)}
      parts={[
        { name: "profile", title: "Profile", content: ProfileTab, group: "You" },
        { name: "tokens", title: "Tokens", content: TokensTab },
        { name: "team", title: "General", content: TeamTab, group: "Team" },
        { name: "members", title: "Members", content: MembersTab },
        { name: "invitations", title: "Invitations", content: InvitationsTab },
        { name: "service-account", title: "Service account", content: ServiceAccountTab },
        { name: "credentials", title: "Credentials", content: CredentialsTab },
        { name: "webhooks", title: "Webhooks", content: WebhooksTab },
        { name: "notifications", title: "Notifications", content: NotificationsTab },
      ]}
    />
  );
}
