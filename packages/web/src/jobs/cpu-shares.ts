/** CPU cores in use, from samples of the CPU time so far. */
import type { UsageSample } from "@millrace/contract";

export function cpuShares(samples: readonly UsageSample[]): { at: number; value: number }[] {
  return samples.flatMap((sample, index) => {
    const before = samples[index - 1];
    const seconds = before ? (Date.parse(sample.at) - Date.parse(before.at)) / 1000 : 0;
    if (!before || seconds <= 0) return [];
    // A new attempt begins at zero.
    const used = sample.cpu_seconds - before.cpu_seconds;
    return [{ at: Date.parse(sample.at), value: Math.max(0, used < 0 ? sample.cpu_seconds : used) / seconds }];
  });
}
