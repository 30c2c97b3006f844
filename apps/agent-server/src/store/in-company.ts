import { postgresTrouble } from '#lib/postgres';

/**
 * Performs a statement for several items. One item may make it fail for all: then none counts as done and
 * each is performed alone, unless the statement may have been performed.
 */
export async function inCompany<T, O>(
  items: readonly T[],
  perform: () => Promise<O>,
  nothing: O,
): Promise<O> {
  if (items.length === 0) return nothing;
  try {
    return await perform();
  } catch (error) {
    if (postgresTrouble(error) === 'unavailable') throw error;
    return nothing;
  }
}
