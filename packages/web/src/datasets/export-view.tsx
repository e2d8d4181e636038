/** Exports the rows of a version to files, shows the progress, and links the files. */
import { type RouteOutput, routes } from "@millrace/contract";
import { useAction, useApi } from "../api/calls.ts";
import { countOf } from "../look/amount.ts";
import { Button } from "../look/button.tsx";
import { Problem } from "../look/states.tsx";
import { fullNameOf } from "../paths/dataset-paths.ts";
import type { Shown } from "./shown.ts";

export function ExportView({ dataset, version }: Shown) {
  const begin = useAction(routes.exportDataset);
  const name = fullNameOf(dataset);
  return (
    <section className="stack tight">
      <h2>Download its rows</h2>
      <p className="soft">
        Parquet files, compressed with LZ4 (unpack them with <code>lz4 -d</code>). The links work for some hours.
      </p>
      {begin.data ? (
        <Files files={begin.data} name={`${name}-${version.version}`} />
      ) : (
        <div>
          <Button
            icon="download"
            busy={begin.isPending}
            onClick={() => begin.mutate({ query: { name, version: version.version } })}
          >
            Export {version.version}
          </Button>
        </div>
      )}
      <Problem error={begin.error} />
    </section>
  );
}

type Files = RouteOutput<typeof routes.exportDataset>;

const underWay = ["pending", "running"];

function Files({ files, name }: { files: Files; name: string }) {
  const status = useApi(
    routes.exportStatus,
    { query: { export_id: files.export_id } },
    {
      staleTime: 0,
      // Only while this export, which the user has just asked for, is being written.
      refetchInterval: ({ state }) =>
        underWay.includes((state.data as { status?: string } | undefined)?.status ?? "pending") ? 1000 : false,
    },
  );
  const { status: state = "pending", files_done = 0, error_message } = status.data ?? {};
  return (
    <>
      <p className="row wrap" role="status">
        {underWay.includes(state) && <progress max={files.signed_urls.length} value={files_done} aria-label="Export" />}
        {sayProgress(state, files_done, files.signed_urls.length)}
      </p>
      <Problem error={error_message} />
      {state !== "failed" && state !== "removed" && (
        <ul className="export-files">
          {files.signed_urls.slice(0, files_done).map((url, file) => (
            <li key={url}>
              <a href={url.slice(new URL(url).origin.length)} download={`${name}-${file}.parquet.lz4`}>
                {name}-{file}.parquet.lz4
              </a>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function sayProgress(state: string, done: number, all: number): string {
  if (state === "complete") return all === 0 ? "The version has no rows." : `${countOf(all, "file")} to download.`;
  if (state === "failed") return "The export failed.";
  if (state === "removed") return "The version was removed, so the export ended.";
  return `${done} of ${countOf(all, "file")} written.`;
}
