/** The path to a folder: every folder above it is a link. */
import { useUrlChange } from "../api/url-state.ts";
import { CopyButton } from "../look/copy-button.tsx";
import { crumbsOf } from "./storage-uri.ts";

export function Crumbs({ uri }: { uri: string }) {
  const change = useUrlChange();
  const crumbs = crumbsOf(uri);
  return (
    <nav className="crumbs row wrap" aria-label="Folders above">
      {crumbs.map(({ name, uri: to }, depth) =>
        depth === crumbs.length - 1 ? (
          <code key={to} aria-current="page">
            {name}
          </code>
        ) : (
          <button key={to} type="button" className="link mono" onClick={() => change({ uri: to, cursor: "" })}>
            {name}
          </button>
        ),
      )}
      <CopyButton text={uri} label="Copy the URI" />
    </nav>
  );
}
