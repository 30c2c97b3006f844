/**
 * Performs one step after the other, also those after one that fails.
 * @throws the errors of the steps
 */
export async function eachStep(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps)
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  const [first] = errors;
  if (errors.length > 1) throw new AggregateError(errors, 'several steps failed', { cause: first });
  if (errors.length === 1) throw first;
}
