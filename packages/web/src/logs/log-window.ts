/**
 * Which rows of a long list are shown. A position is the number of the row at the top, with a fraction; the scroll bar
 * shows it in proportion, because no browser scrolls through as many pixels as a long log has.
 */
export const rowHeight = 20;
/** Browsers draw no element that is much higher than this, in pixels. */
const mostPixels = 12_000_000;

export interface Extent {
  /** Number of rows. */
  readonly rows: number;
  /** Height of the window in pixels. */
  readonly height: number;
  /** Whether rows may be higher than `rowHeight`. Then the last row can be scrolled up to the top. */
  readonly wraps: boolean;
}

/** The last position. */
export const lastTop = ({ rows, height, wraps }: Extent) => Math.max(0, wraps ? rows - 1 : rows - height / rowHeight);

/** Pixels through which the scroll bar moves. */
const travel = (extent: Extent) => Math.min(mostPixels, lastTop(extent) * rowHeight);

/** Height of the content, in pixels. */
export const contentHeight = (extent: Extent) => travel(extent) + extent.height;

/** Whether a pixel of the scroll bar is more than a pixel of the rows. */
export const isScaled = (extent: Extent) => travel(extent) < lastTop(extent) * rowHeight;

export const scrollOf = (extent: Extent, top: number) => {
  const last = lastTop(extent);
  return last === 0 ? 0 : (Math.min(top, last) / last) * travel(extent);
};

export const topOf = (extent: Extent, scroll: number) => {
  const pixels = travel(extent);
  return pixels === 0 ? 0 : Math.min(1, Math.max(0, scroll / pixels)) * lastTop(extent);
};

/** The position at which rows of these heights, the last ones of the list, end at the bottom of the window. */
export function bottomTop({ rows, height }: Extent, heights: readonly number[]): number {
  let over = heights.reduce((sum, one) => sum + one, 0) - height;
  if (over <= 0) return Math.max(0, rows - heights.length);
  for (const [index, one] of heights.entries()) {
    if (over < one) return rows - heights.length + index + over / one;
    over -= one;
  }
  return Math.max(0, rows - 1);
}
