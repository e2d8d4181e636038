/** The keys that work on every page. */

/** `g` and one of these letters opens a place, by the title of the place. */
export const placeLetters: Readonly<Record<string, string>> = {
  Home: "h",
  Jobs: "j",
  Pipelines: "p",
  Schedules: "s",
  Datasets: "d",
  Storage: "o",
  Clusters: "c",
  Settings: "t",
  Administration: "a",
};

export type KeyAction =
  | { readonly do: "palette" | "sheet" | "search" | "new-job" | "await-place" }
  | { readonly do: "place"; readonly letter: string };

interface Pressed {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

const plain: Readonly<Record<string, KeyAction["do"] & ("sheet" | "search" | "new-job" | "await-place")>> = {
  "?": "sheet",
  "/": "search",
  n: "new-job",
  g: "await-place",
};

/**
 * Returns what a key does; undefined if nothing. `typing`: the focus is in a field, where only combinations work.
 * `afterG`: the key before was `g`.
 */
export function actionOf(pressed: Pressed, typing: boolean, afterG: boolean): KeyAction | undefined {
  const { key, ctrlKey, metaKey, altKey } = pressed;
  if (key.toLowerCase() === "k" && (ctrlKey || metaKey) && !altKey) return { do: "palette" };
  if (typing || ctrlKey || metaKey || altKey) return undefined;
  if (afterG) return Object.values(placeLetters).includes(key) ? { do: "place", letter: key } : undefined;
  const action = plain[key];
  return action && { do: action };
}
