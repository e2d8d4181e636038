/** The options of a cluster of which none is given. */
import type { Static, TObject } from "typebox";

export const defaultsOf = <S extends TObject>({ properties }: S): Static<S> =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, (schema as { default?: unknown }).default]),
  ) as Static<S>;
