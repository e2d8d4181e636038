/** Counters and histograms that the server keeps in memory, one value for each set of labels. */
import type { Family, Labels, Sample } from "./text.ts";

/** Stores one value for each set of labels. Callers must pass the labels in the same order each time. */
class ByLabels<T> {
  readonly #values = new Map<string, { labels: Labels; value: T }>();

  entry(labels: Labels, first: () => T): { labels: Labels; value: T } {
    const key = Object.values(labels).join("\u0000");
    const known = this.#values.get(key) ?? { labels, value: first() };
    this.#values.set(key, known);
    return known;
  }

  entries() {
    return [...this.#values.values()];
  }
}

/** A counter that only increases; it restarts at 0 with the server. */
export class Counter {
  readonly #about: Pick<Family, "name" | "help">;
  readonly #counts = new ByLabels<number>();

  constructor(name: string, help: string) {
    this.#about = { name, help };
  }

  add(labels: Labels, count = 1): void {
    this.#counts.entry(labels, () => 0).value += count;
  }

  family(): Family {
    return { ...this.#about, type: "counter", samples: this.#counts.entries() };
  }
}

interface Distribution {
  /** Number of values in each bucket, not cumulative. */
  readonly counts: number[];
  sum: number;
  count: number;
}

export class Histogram {
  readonly #about: Pick<Family, "name" | "help">;
  readonly #bounds: readonly number[];
  readonly #distributions = new ByLabels<Distribution>();

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#about = { name, help };
    this.#bounds = bounds;
  }

  observe(labels: Labels, value: number): void {
    const { value: seen } = this.#distributions.entry(labels, () => this.#empty());
    seen.sum += value;
    seen.count++;
    const index = this.#bounds.findIndex((bound) => value <= bound);
    if (index !== -1) seen.counts[index] = (seen.counts[index] ?? 0) + 1;
  }

  family(): Family {
    return {
      ...this.#about,
      type: "histogram",
      samples: this.#distributions.entries().flatMap(({ labels, value }) => this.#samples(labels, value)),
    };
  }

  #empty = (): Distribution => ({ counts: this.#bounds.map(() => 0), sum: 0, count: 0 });

  #samples(labels: Labels, { counts, sum, count }: Distribution): Sample[] {
    let below = 0;
    const buckets = this.#bounds.map((bound, index) => {
      below += counts[index] ?? 0;
      return { suffix: "_bucket", labels: { ...labels, le: String(bound) }, value: below };
    });
    return [
      ...buckets,
      { suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: count },
      { suffix: "_sum", labels, value: sum },
      { suffix: "_count", labels, value: count },
    ];
  }
}
