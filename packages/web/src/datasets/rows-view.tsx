/** The rows of a version, a page at a time. A row can be opened to read its long values. */
import { type DatasetRows, routes, versionStatus } from "@millrace/contract";
import { useState } from "react";
import { useApiPages } from "../api/calls.ts";
import { countOf, countText } from "../look/amount.ts";
import { Button } from "../look/button.tsx";
import { Empty, Read } from "../look/states.tsx";
import { fullNameOf } from "../paths/dataset-paths.ts";
import { RowTable } from "./row-table.tsx";
import type { Shown } from "./shown.ts";
import "./rows.css";

export function RowsView(shown: Shown) {
  if (shown.version.status === versionStatus.removed)
    return (
      <Empty title="No rows">
        <p>The rows of this version were deleted when it was removed. Choose another version.</p>
      </Empty>
    );
  return <LiveRows {...shown} />;
}

function LiveRows({ dataset, version }: Shown) {
  const query = { name: fullNameOf(dataset), version: version.version, limit: 50 };
  const found = useApiPages(routes.readRows, { query }, (page) => [page]);
  return (
    <Read from={found}>
      {({ pages }) => (
        <>
          <Found pages={pages.flatMap(({ items }) => items)} all={version.num_objects} />
          {found.hasNextPage && (
            <div>
              <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
                Show more rows
              </Button>
            </div>
          )}
        </>
      )}
    </Read>
  );
}

function Found({ pages, all }: { pages: readonly DatasetRows[]; all: number | null }) {
  const [first] = pages;
  const rows = pages.flatMap((page) => page.rows);
  const [opened, setOpened] = useState<number>();
  if (!first || rows.length === 0)
    return first?.source === "preview" ? <NoPreview /> : <Empty title="This version has no rows" />;
  return (
    <>
      <p className="soft small">
        {countOf(rows.length, "row")} of {countText(all)}
        {first.source === "preview" && ", as the producer registered them; the rows are stored elsewhere"}
        {first.more_columns > 0 && `; ${countOf(first.more_columns, "column")} more not shown`}
      </p>
      <RowTable columns={first.columns} rows={rows} opened={opened} onOpen={setOpened} />
    </>
  );
}

const NoPreview = () => (
  <Empty title="The rows are stored elsewhere">
    <p>An external producer registered this version without its first rows.</p>
  </Empty>
);
