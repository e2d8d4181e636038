/** The administration of the server. The last part of the path is the tab. */
import type { ComponentType } from "react";
import { Redirect, useParams } from "wouter";
import { useSession } from "../api/session.tsx";
import { NotFound } from "../frame/not-found.tsx";
import { Screen, Tabs } from "../look/screen.tsx";
import { Empty } from "../look/states.tsx";
import { AuditTab } from "./audit-tab.tsx";
import { DoctorTab } from "./doctor-tab.tsx";
import { SystemTab } from "./system-tab.tsx";
import { TeamsTab } from "./teams-tab.tsx";
import { UsersTab } from "./users-tab.tsx";

interface AdministrationTab {
  readonly name: string;
  readonly title: string;
  readonly content: ComponentType;
}

const tabs: readonly AdministrationTab[] = [
  { name: "system", title: "System", content: SystemTab },
  { name: "doctor", title: "Doctor", content: DoctorTab },
  { name: "users", title: "Users", content: UsersTab },
  { name: "teams", title: "Teams", content: TeamsTab },
  { name: "audit", title: "Audit", content: AuditTab },
];

const pathOf = (tab: string) => `/administration/${tab}`;

export default function AdministrationScreen() {
  const { is_admin, username } = useSession();
  const { tab: name } = useParams<{ tab?: string }>();
  if (!is_admin) return <Forbidden username={username} />;
  if (name === undefined) return <Redirect to={pathOf("system")} replace />;
  const tab = tabs.find((one) => one.name === name);
  if (!tab) return <NotFound />;
  const links = tabs.map((one) => ({ href: pathOf(one.name), title: one.title }));
  return (
    <Screen title="Administration" tab={`${tab.title} · Administration`}>
      <Tabs label="Administration" tabs={links} current={pathOf(tab.name)} />
      <tab.content />
    </Screen>
  );
}

const Forbidden = ({ username }: { username: string }) => (
  <Screen title="Administration">
    <Empty title="Only administrators of the server can see this">
      <p>
        You are signed in as <b>{username}</b>, who is not one. An administrator can make you one below Users.
      </p>
    </Empty>
  </Screen>
);
