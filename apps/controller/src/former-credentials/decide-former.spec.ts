import { describe, expect, it } from '@jest/globals';
import type { BulkExport, BulkExportDestination, BulkExportRun } from '#lib/resources';
import { decideFormer, type FormerWorld } from './former-credentials-reconciler.js';

const NOW = Date.parse('2026-05-01T12:00:00Z');
const MINUTE_MS = 60_000;

const ended = (isEnded: boolean) => ({
  conditions: isEnded ? [{ type: 'Completed', status: 'True' }] : [],
});
const anExport = (isEnded: boolean) =>
  ({ metadata: { name: 'x' }, status: ended(isEnded) }) as unknown as BulkExport;
const aRun = (isEnded: boolean, credentialsSecretName: string | undefined = 'old') =>
  ({
    spec: { exportName: 'x', destination: { credentialsSecretName } },
    status: ended(isEnded),
  }) as unknown as BulkExportRun;
const aDestination = (name: string) =>
  ({ spec: { credentialsSecretRef: { name } } }) as unknown as BulkExportDestination;
const former = (agoMs: number) => [{ secretName: 'old', since: new Date(NOW - agoMs).toISOString() }];

function decide(changes: Partial<FormerWorld>): string {
  const { unneeded, lookMs } = decideFormer({
    former: former(11 * MINUTE_MS),
    destinations: [aDestination('new')],
    exports: [],
    runs: [],
    now: new Date(NOW),
    ...changes,
  });
  return `${unneeded.join()} ${lookMs === undefined ? '' : lookMs / MINUTE_MS}`.trim();
}

describe('decideFormer', () => {
  it.each<[string, Partial<FormerWorld>, string]>([
    ['deletes a Secret that nothing names', {}, 'old'],
    [
      'keeps one that was current a moment ago: a run may be made with it now',
      { former: former(MINUTE_MS) },
      '9',
    ],
    ['looks at a new one again when it may go', { former: former(0) }, '10'],
    ['keeps that of a run that has not ended', { exports: [anExport(false)], runs: [aRun(false)] }, '1'],
    [
      'keeps that of a run that ends after its export',
      { exports: [anExport(true)], runs: [aRun(false)] },
      '1',
    ],
    [
      'keeps that of an export whose first days have ended: the next ones follow them',
      { exports: [anExport(false)], runs: [aRun(true)] },
      '1',
    ],
    [
      'deletes that of an export which has ended with its runs',
      { exports: [anExport(true)], runs: [aRun(true)] },
      'old',
    ],
    ['deletes it beside runs with others', { exports: [anExport(false)], runs: [aRun(false, 'new')] }, 'old'],
    ['keeps one that a destination has again', { destinations: [aDestination('old')] }, '1'],
    ['has nothing to look at without any', { former: [] }, ''],
  ])('%s', (_name, changes, expected) => expect(decide(changes)).toBe(expected));
});
