/** The top of a screen: its title, which is also the title of the tab, and its actions. */
import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";
import "./screen.css";

interface ScreenProps {
  readonly title: string;
  /** Shown beside the title, such as a state. */
  readonly beside?: ReactNode;
  readonly actions?: ReactNode;
  /** Title of the tab if it should say more than the title of the screen. */
  readonly tab?: string;
  readonly children: ReactNode;
}

export function Screen({ title, beside, actions, tab = title, children }: ScreenProps) {
  useEffect(() => {
    document.title = `${tab} · Millrace`;
  }, [tab]);
  return (
    <div className="screen stack">
      <header className="screen-head row wrap apart">
        <div className="row wrap">
          <h1>{title}</h1>
          {beside}
        </div>
        {actions !== undefined && <div className="row wrap">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface Tab {
  readonly href: string;
  readonly title: string;
}

/** Links between the parts of a screen. The URL says which is shown. */
export const Tabs = ({ label, tabs, current }: { label: string; tabs: readonly Tab[]; current: string }) => (
  <nav className="tabs row" aria-label={label}>
    {tabs.map(({ href, title }) => (
      <Link key={href} href={href} aria-current={href === current ? "page" : undefined}>
        {title}
      </Link>
    ))}
  </nav>
);
