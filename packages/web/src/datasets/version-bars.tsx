/** Rows and bytes of the newest versions as bars. */
import { type DatasetVersion, versionStatus } from "@millrace/contract";
import { useTeam } from "../api/team.tsx";
import { bytesText, countText } from "../look/amount.ts";
import { datasetPath, fullNameOf } from "../paths/dataset-paths.ts";
import { Bars } from "../plots/bars.tsx";
import { roundUpBytes } from "../plots/scale.ts";
import type { Shown } from "./shown.ts";

const most = 30;

export function VersionBars({ dataset }: Pick<Shown, "dataset">) {
  const team = useTeam();
  const live = dataset.versions.filter(({ status }) => status === versionStatus.complete).slice(-most);
  const bars = (value: (version: DatasetVersion) => number | null, text: (value: number) => string) =>
    live.flatMap((row) => {
      const amount = value(row);
      if (amount === null) return [];
      const href = datasetPath(team, fullNameOf(dataset), { version: row.version });
      const title = `Version ${row.version}: ${text(amount)}`;
      return [{ key: row.uuid, label: row.version, value: amount, title, href }];
    });
  const rows = bars(
    ({ num_objects }) => num_objects,
    (value) => `${countText(value)} rows`,
  );
  const sizes = bars(({ size }) => size, bytesText);
  if (Math.max(rows.length, sizes.length) < 2) return null;
  return (
    <div className="version-bars">
      {rows.length > 1 && (
        <section className="card stack tight">
          <h2>Rows</h2>
          <Bars label="Rows per version" items={rows} format={countText} titles={["Version", "Rows"]} />
        </section>
      )}
      {sizes.length > 1 && (
        <section className="card stack tight">
          <h2>Files</h2>
          <Bars
            label="Size of files per version"
            items={sizes}
            format={bytesText}
            round={roundUpBytes}
            titles={["Version", "Size"]}
          />
        </section>
      )}
    </div>
  );
}
