/** Keys that clients often get wrong, with a description of each. */
import type { KeyCapabilities } from "@millrace/storage";

export interface OddKey {
  /** The part below a folder whose length in bytes is also limited. */
  key(folder: number): string;
  isPossible(keys: KeyCapabilities): boolean;
  /** Some servers treat such a key as a folder and drop its content. */
  readonly empty?: true;
  /** Another key that exists at the same time. */
  readonly beside?: string;
}

const always = (key: string): OddKey => ({ key: () => key, isPossible: () => true });

/** Tests open the storage one folder deep, so the key leaves room for that. */
const room = 64;

export const oddKeys = {
  "a key with spaces": always(" a  b "),
  "a key with a plus": always("a+b"),
  "a key with percent signs": always("100%25%zz"),
  "a key with a question mark": always("a?b=c&d"),
  "a key with a hash": always("a#b"),
  "a key with quotes and brackets": always(`a'b"c(d)*[e]{f}!<g>&h;`),
  "a key with a backslash": always("a\\b"),
  "a key with a newline": always("a\nb"),
  "a composed letter": always("\u00e9"),
  "a decomposed letter": always("e\u0301"),
  "a letter beyond the basic plane": always("🌊"),
  "a double slash": { key: () => "a//b", isPossible: (keys) => keys.doubleSlash },
  "a key that others take for their folder": {
    key: () => "x",
    beside: "x/y",
    isPossible: (keys) => keys.besideFolder,
  },
  "a slash at the end": { key: () => "a/", isPossible: (keys) => keys.trailingSlash, empty: true },
  "a key of the greatest length": {
    key: (folder) => "k".repeat(1024 - room - folder),
    isPossible: (keys) => keys.segment >= 1024,
  },
  "a key of long segments": {
    key: (folder) =>
      `${"s".repeat(200)}/`
        .repeat(5)
        .slice(0, 1000 - room - folder)
        .replace(/\/$/, ""),
    isPossible: (keys) => keys.length >= 1024,
  },
} as const satisfies Record<string, OddKey>;
