/** When faults were active. Failures during a fault are excused; all others count. */

interface Window {
  readonly name: string;
  readonly begin: number;
  end: number;
}

/** An answer in transit when a fault ends may still be affected by it. */
const aftermath = 1000;

export class Timeline {
  readonly windows: Window[] = [];

  /** Keeps a window open while `fault` lasts. */
  async during(name: string, fault: () => Promise<void>): Promise<void> {
    const window: Window = { name, begin: performance.now(), end: Number.POSITIVE_INFINITY };
    this.windows.push(window);
    try {
      await fault();
    } finally {
      window.end = performance.now();
    }
  }

  /** Whether any of these faults, or any at all, was active between the two times. */
  held(from: number, to: number, names?: readonly string[]): boolean {
    return this.windows.some(
      ({ name, begin, end }) => begin <= to && from <= end + aftermath && (names?.includes(name) ?? true),
    );
  }

  summary(): string {
    const counts = new Map<string, number>();
    for (const { name } of this.windows) counts.set(name, (counts.get(name) ?? 0) + 1);
    return [...counts].map(([name, count]) => `${count} x ${name}`).join(", ");
  }
}
