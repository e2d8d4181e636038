/** Counts and sizes as people read them; a dash if they are not known. */
import { bytes } from "./bytes.ts";

const whole = new Intl.NumberFormat("en");

/** A number with separators: `12,345`. */
export const countText = (count: number | null | undefined) => (count == null ? "–" : whole.format(count));

/** A number and its noun: `1 row`, `2 rows`. */
export const countOf = (count: number, noun: string) => `${countText(count)} ${noun}${count === 1 ? "" : "s"}`;

/** The size of the files that a dataset refers to; a dash if there are none. */
export const filesText = (count: number | null | undefined) => bytesText(count || null);

export const bytesText = (count: number | null | undefined) => (count == null ? "–" : bytes(count));
