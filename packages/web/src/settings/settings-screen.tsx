/** The settings: your own, and those of the team. The last part of the path is the tab. */
import type { ComponentType } from "react";
import { Redirect, useParams } from "wouter";
import { useTeam } from "../api/team.tsx";
import { NotFound } from "../look/not-found.tsx";
import { Screen, Tabs } from "../look/screen.tsx";
import { CredentialsTab } from "./credentials-tab.tsx";
import { InvitationsTab } from "./invitations-tab.tsx";
import { MembersTab } from "./members-tab.tsx";
import { NotificationsTab } from "./notifications-tab.tsx";
import { ProfileTab } from "./profile-tab.tsx";
import { ServiceAccountTab } from "./service-account-tab.tsx";
import "./settings.css";
import { settingsPath } from "../paths/settings-paths.ts";
import { TeamTab } from "./team-tab.tsx";
import { TokensTab } from "./tokens-tab.tsx";
import { WebhooksTab } from "./webhooks-tab.tsx";

interface SettingsTab {
  readonly name: string;
  readonly title: string;
  readonly content: ComponentType;
}

const tabs: readonly SettingsTab[] = [
  { name: "profile", title: "Profile", content: ProfileTab },
  { name: "tokens", title: "Tokens", content: TokensTab },
  { name: "team", title: "Team", content: TeamTab },
  { name: "members", title: "Members", content: MembersTab },
  { name: "invitations", title: "Invitations", content: InvitationsTab },
  { name: "service-account", title: "Service account", content: ServiceAccountTab },
  { name: "credentials", title: "Credentials", content: CredentialsTab },
  { name: "webhooks", title: "Webhooks", content: WebhooksTab },
  { name: "notifications", title: "Notifications", content: NotificationsTab },
];

export default function SettingsScreen() {
  const team = useTeam();
  const { tab: name } = useParams<{ tab?: string }>();
  if (name === undefined) return <Redirect to={settingsPath(team, "profile")} replace />;
  const tab = tabs.find((one) => one.name === name);
  if (!tab) return <NotFound />;
  const links = tabs.map((one) => ({ href: settingsPath(team, one.name), title: one.title }));
  return (
    <Screen title="Settings" tab={`${tab.title} · Settings`}>
      <Tabs label="Settings" tabs={links} current={settingsPath(team, tab.name)} />
      <tab.content />
    </Screen>
  );
}
