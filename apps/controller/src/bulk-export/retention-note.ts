import { type Window } from '#lib/export-plan';
import { formatInstant, instantOf, MICROS_PER_DAY } from '#lib/time';
import type { ExportWorld } from './world.js';

/** Note for an export whose window begins before the data that the workspace keeps; empty for others. */
export function retentionNote(
  { workspace, now }: Pick<ExportWorld, 'workspace' | 'now'>,
  window: Window | undefined,
): string {
  const { shortlivedDays = 0, longlivedDays = 0 } = workspace?.spec.retention ?? {};
  const parts = [
    { tier: 'shortlived ', days: shortlivedDays },
    { tier: '', days: longlivedDays },
  ].flatMap(({ tier, days }) => {
    const bound = instantOf(now) - BigInt(days) * MICROS_PER_DAY;
    return days === 0 || !window || window.start >= bound
      ? []
      : [`${tier}traces from before ${formatInstant(bound, 'if-any').slice(0, 10)} (${days} days)`];
  });
  return parts.length === 0 ? '' : `; the workspace does not keep ${parts.join(' and ')}`;
}
