/** What a screen shows when it has no content: nothing yet, loading, an error. Each says what to do next. */
import { ApiError } from "@millrace/contract";
import type { ReactNode } from "react";
import { Offline } from "../api/client.ts";
import { Button, ButtonLink } from "./button.tsx";
import { Icon } from "./icon.tsx";
import "./states.css";

/** Nothing is here yet. The children are the one command or button that fills the screen. */
export const Empty = ({ title, children }: { title: string; children?: ReactNode }) => (
  <div className="empty stack tight">
    <h2>{title}</h2>
    {children}
  </div>
);

/** Grey bars in the place of content that is read for the first time. */
export const Loading = ({ rows = 6 }: { rows?: number }) => (
  <div className="loading" role="status">
    <span className="hidden-text">Loading</span>
    {Array.from({ length: rows }, (_, row) => (
      <span key={row} className="bar" />
    ))}
  </div>
);

const titles: Partial<Record<string, string>> = {
  not_found: "Not found",
  forbidden: "Not allowed",
  unavailable: "Not available at the moment",
};

/** The list in which what was not found would be. */
interface ListLink {
  readonly href: string;
  /** Such as "All schedules". */
  readonly title: string;
}

interface LoadErrorProps {
  readonly error: unknown;
  readonly retry?: () => void;
  readonly list?: ListLink | undefined;
}

/** An error in the place of the content. What was not found is offered as a list; a second try would not find it. */
export function LoadError({ error, retry, list }: LoadErrorProps) {
  const code = error instanceof ApiError ? error.code : "";
  const known = error instanceof Offline ? "No connection to the server" : titles[code];
  return (
    <div className="empty stack tight" role="alert">
      <h2>{known ?? "This could not be loaded"}</h2>
      <p>{messageOf(error)}</p>
      {code === "not_found" && list && (
        <p>
          <ButtonLink href={list.href}>{list.title}</ButtonLink>
        </p>
      )}
      {code !== "not_found" && retry && (
        <p>
          <Button icon="again" onClick={retry}>
            Try again
          </Button>
        </p>
      )}
    </div>
  );
}

/** An error of an action, beside its button or form. */
export const Problem = ({ error }: { error: unknown }) =>
  error ? (
    <p className="problem row" role="alert">
      <Icon name="warning" />
      <span>{messageOf(error)}</span>
    </p>
  ) : null;

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

interface Reading<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  /** Why the last attempt failed, and how many did, while it is repeated. */
  readonly failureReason?: unknown;
  readonly failureCount?: number;
  readonly refetch: () => unknown;
}

interface ReadProps<T> {
  readonly from: Reading<T>;
  readonly list?: ListLink | undefined;
  readonly children: (data: T) => ReactNode;
}

/** Shows what was read; until then that it loads, or why it cannot be read. An old answer stays during an error. */
export function Read<T>({ from, list, children }: ReadProps<T>) {
  if (from.data === undefined) return <NotRead from={from} list={list} />;
  return children(from.data);
}

/** In the place of something that is being read for the first time, or that cannot be read. */
export function NotRead({ from, list }: Omit<ReadProps<unknown>, "children">) {
  const error = from.error || ((from.failureCount ?? 0) > 1 && from.failureReason);
  return error ? <LoadError error={error} retry={() => void from.refetch()} list={list} /> : <Loading />;
}
