/** Writes metrics in the Prometheus text exposition format 0.0.4. */

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  /** Suffix of the metric name: histograms use `_bucket`, `_sum` and `_count`. */
  readonly suffix?: string;
  readonly labels: Labels;
  readonly value: number;
}

/** All samples of one metric name. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: readonly Sample[];
}

export const contentType = "text/plain; version=0.0.4; charset=utf-8";

export const writeText = (families: readonly Family[]): string => families.map(writeFamily).join("");

function writeFamily({ name, help, type, samples }: Family): string {
  const lines = samples.map(
    (sample) => `${name}${sample.suffix ?? ""}${writeLabels(sample.labels)} ${writeValue(sample.value)}`,
  );
  return [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n");
}

const writeValue = (value: number) => (Number.isFinite(value) ? String(value) : value > 0 ? "+Inf" : "NaN");

function writeLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeValue(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escapeHelp = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
const escapeValue = (text: string) => escapeHelp(text).replaceAll('"', '\\"');
