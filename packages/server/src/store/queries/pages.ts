/** A page of a list in key order: at most `limit` rows, starting after the row `after`. */
export interface Page<Cursor> {
  /** Last row of the previous page; undefined for the first page. */
  readonly after: Cursor | undefined;
  readonly limit: number;
}
