/** The top of a screen: its title, which is also the title of the tab, and its actions. */
import { Fragment, type ReactNode, useEffect, useRef } from "react";
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
  /** What this tab and those after it are about. */
  readonly group?: string | undefined;
}

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly current: string;
}

/** Links between the parts of a screen. The URL says which is shown. On a phone the current one is scrolled into view. */
export function Tabs({ label, tabs, current }: TabsProps) {
  const row = useRef<HTMLElement>(null);
  useEffect(() => {
    const scroll = () => {
      const marked = row.current?.querySelector<HTMLElement>("[aria-current]");
      if (marked && row.current) row.current.scrollLeft = marked.offsetLeft - row.current.clientWidth / 2;
    };
    scroll();
    // A phone may be turned.
    window.addEventListener("resize", scroll);
    return () => window.removeEventListener("resize", scroll);
  }, [current]);
  return (
    <nav ref={row} className="tabs row" aria-label={label}>
      {tabs.map(({ href, title, group }) => (
        <Fragment key={href}>
          {group !== undefined && <span className="tab-group">{group}</span>}
          <Link href={href} aria-current={href === current ? "page" : undefined}>
            {title}
          </Link>
        </Fragment>
      ))}
    </nav>
  );
}
