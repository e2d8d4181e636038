/** A screen of several parts, of which the path says the one that is shown. */
import type { ComponentType } from "react";
import { Redirect, useParams } from "wouter";
import { NotFound } from "./not-found.tsx";
import { Screen, Tabs } from "./screen.tsx";

interface Part {
  readonly name: string;
  readonly title: string;
  readonly content: ComponentType;
  /** What this part and those after it are about. */
  readonly group?: string;
}

interface TabbedScreenProps {
  readonly title: string;
  readonly parts: readonly [Part, ...Part[]];
  readonly pathOf: (name: string) => string;
}

/** The parameter `tab` of the path is the name of the part. Without one, the first part is opened. */
export function TabbedScreen({ title, parts, pathOf }: TabbedScreenProps) {
  const { tab } = useParams<{ tab?: string }>();
  if (tab === undefined) return <Redirect to={pathOf(parts[0].name)} replace />;
  const part = parts.find(({ name }) => name === tab);
  if (!part) return <NotFound />;
  const links = parts.map((one) => ({ href: pathOf(one.name), title: one.title, group: one.group }));
  return (
    <Screen title={title} tab={`${part.title} · ${title}`}>
      <Tabs label={title} tabs={links} current={pathOf(part.name)} />
      <part.content />
    </Screen>
  );
}
