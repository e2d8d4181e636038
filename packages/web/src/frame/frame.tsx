/** The frame of every page: navigation, team, user. On a phone the navigation is a row at the bottom. */
import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { serverPath } from "../api/base.ts";
import { useSession } from "../api/session.tsx";
import { teamPath } from "../api/team.tsx";
import { Button } from "../look/button.tsx";
import "../look/field.css";
import { Icon } from "../look/icon.tsx";
import "./frame.css";
import { Keyboard } from "./keyboard.tsx";
import "./palette.css";
import { themes, themeTitles, useTheme } from "../look/theme.ts";
import { places } from "./places.ts";
import { Reconnecting } from "./reconnecting.tsx";

export function Frame({ team, children }: { team: string | undefined; children: ReactNode }) {
  return (
    <div className={team === undefined ? "frame alone" : "frame"}>
      <button type="button" className="skip button" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <header className="top row">
        <Link href={team === undefined ? "/" : teamPath(team)} className="brand">
          Millrace
        </Link>
        <TeamChoice team={team} />
        <span className="space" />
        {team !== undefined && <Keyboard team={team} />}
        {team !== undefined && <Reconnecting team={team} />}
        <UserMenu />
      </header>
      {team !== undefined && <Navigation team={team} />}
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function Navigation({ team }: { team: string }) {
  const [path] = useLocation();
  // Pages of the whole server are at none of the places.
  const rest = path.startsWith(teamPath(team)) ? path.slice(teamPath(team).length) : "outside";
  return (
    <nav className="places" aria-label="Main">
      {places.map((place) => (
        <Link
          key={place.path}
          href={teamPath(team, place.path)}
          aria-current={place.here.test(rest) ? "page" : undefined}
        >
          <Icon name={place.icon} />
          <span>{place.title}</span>
        </Link>
      ))}
    </nav>
  );
}

function TeamChoice({ team }: { team: string | undefined }) {
  const { teams } = useSession();
  const [, go] = useLocation();
  if (team === undefined) return null;
  const names = teams.map(({ name }) => name);
  return (
    <select
      className="team-choice"
      aria-label="Team"
      value={team}
      onChange={(event) => go(teamPath(event.currentTarget.value))}
    >
      {(names.includes(team) ? names : [team, ...names]).map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

function UserMenu() {
  const { username, is_admin } = useSession();
  const [theme, setTheme] = useTheme();
  return (
    <details className="user-menu" onBlur={closeWhenLeft}>
      <summary className="button bare">
        <Icon name="person" />
        <span>{username}</span>
      </summary>
      <div className="menu stack tight">
        <AccountLink />
        {is_admin && <Link href="/administration">Administration</Link>}
        <a href={serverPath("/api/docs")}>API reference</a>
        <label className="row apart">
          Theme
          <select value={theme} onChange={(event) => setTheme(event.currentTarget.value as typeof theme)}>
            {themes.map((name) => (
              <option key={name} value={name}>
                {themeTitles[name]}
              </option>
            ))}
          </select>
        </label>
        <form method="post" action={serverPath("/auth/sign-out")}>
          <Button type="submit">Sign out</Button>
        </form>
      </div>
    </details>
  );
}

/** The profile is a part of a team's settings; a user without a team has the plain page. */
function AccountLink() {
  const [path] = useLocation();
  const { teams } = useSession();
  const team = /^\/team\/([^/]+)/.exec(path)?.[1] ?? teams[0]?.name;
  if (team === undefined) return <a href={serverPath("/auth/account")}>Account</a>;
  return <Link href={`/team/${team}/settings/profile`}>Profile and tokens</Link>;
}

function closeWhenLeft(event: { currentTarget: HTMLDetailsElement; relatedTarget: EventTarget | null }): void {
  if (!event.currentTarget.contains(event.relatedTarget as Node | null)) event.currentTarget.open = false;
}
