/** Returns the iterator of any iterable, sync or async. */

export const iteratorOf = <T>(items: AsyncIterable<T> | Iterable<T>): AsyncIterator<T> =>
  Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : asAsync(items);

async function* asAsync<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}
