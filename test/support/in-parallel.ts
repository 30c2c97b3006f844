/** Performs all items, `width` at a time. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  perform: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await perform(item);
    }),
  );
}
