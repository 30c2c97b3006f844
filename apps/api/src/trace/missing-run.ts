import { PublicError } from '#lib/errors';
import { formatInstant, type Instant } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';

/** Error for a project that does not exist, which tells whether it was deleted. */
export async function missingProject(
  { projects }: Pick<TraceStore, 'projects'>,
  tenantId: string,
  id: string,
): Promise<PublicError> {
  const deletedAt = await projects.deletedAt(tenantId, id);
  return new PublicError(
    'not_found',
    deletedAt
      ? `Session with ID ${id} was deleted at ${deletedAt.toISOString()}, with its runs`
      : `Session with ID ${id} not found`,
  );
}

/**
 * Error for a run that is not found, which tells whether its age explains that.
 * @param startTime of the caller; else that of a version 7 id is used
 */
export async function missingRun(
  { retention }: Pick<TraceStore, 'retention'>,
  tenantId: string,
  id: string,
  startTime: Instant | undefined,
): Promise<PublicError> {
  const unknown = new PublicError('not_found', `Run with ID ${id} not found`);
  const began = startTime ?? timeOfId(id);
  if (began === undefined) return unknown;
  const bounds = await retention.boundsOf(tenantId);
  const { shortlivedBound, longlivedBound, shortlivedDays, longlivedDays } = bounds ?? {};
  const isOld = (bound: Instant | undefined): boolean => bound !== undefined && began < bound;
  if (!isOld(shortlivedBound) && !isOld(longlivedBound)) return unknown;
  const days = [
    ...(shortlivedDays === undefined ? [] : [`${shortlivedDays} days where they are shortlived`]),
    ...(longlivedDays === undefined ? [] : [`${longlivedDays} days where they are longlived`]),
  ];
  return new PublicError(
    'not_found',
    `Run with ID ${id} not found: it began at ${formatInstant(began, 'if-any')}, and this workspace keeps traces for ${days.join(' and ')}; older ones are removed`,
  );
}

/** The time in a version 7 id, which clients make when the run begins. */
function timeOfId(id: string): Instant | undefined {
  const digits = id.replaceAll('-', '');
  return digits[12] === '7' ? BigInt(`0x${digits.slice(0, 12)}`) * 1_000n : undefined;
}
