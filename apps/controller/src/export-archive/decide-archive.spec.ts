import { describe, expect, it } from '@jest/globals';
import type { BulkExport, BulkExportRun } from '#lib/resources';
import { itLong } from '#lib/testing';
import { type ArchiveWorld, beyondHistory, decideArchive } from './decide-archive.js';

const HOUR_MS = 3_600_000;
const END = Date.parse('2026-05-01T00:00:00Z');

function anExport(name: string, endedMs?: number): BulkExport {
  const at = endedMs === undefined ? undefined : new Date(endedMs).toISOString();
  return {
    metadata: { name, uid: name, namespace: 'ws' },
    spec: {},
    status: at ? { finishedAt: at, conditions: [{ type: 'Completed', status: 'True' }] } : {},
  } as unknown as BulkExport;
}

function withWebhook(delivered: string): BulkExport {
  const { status, ...rest } = anExport('x', END);
  const conditions = [...(status?.conditions ?? []), { type: 'WebhookDelivered', status: delivered }];
  const spec = { webhook: { url: 'https://receiver.example/' } };
  return { ...rest, spec, status: { ...status, conditions } } as unknown as BulkExport;
}

function aRun(isDone: boolean): BulkExportRun {
  return {
    status: { conditions: isDone ? [{ type: 'Failed', status: 'True', reason: 'Cancelled' }] : [] },
  } as unknown as BulkExportRun;
}

function decide(changes: Partial<ArchiveWorld>, afterMs: number): string {
  const bulkExport = anExport('x', END);
  const decision = decideArchive({
    bulkExport,
    runs: [aRun(true)],
    siblings: [bulkExport],
    history: { keptMs: 24 * HOUR_MS, keptExports: 2 },
    isSettled: true,
    now: new Date(END + afterMs),
    ...changes,
  });
  return decision.kind === 'later' ? `later ${decision.ms}` : decision.kind;
}

describe('decideArchive', () => {
  it.each<[string, Partial<ArchiveWorld>, number, string]>([
    ['keeps an export for its history', {}, 23.5 * HOUR_MS, `later ${HOUR_MS / 2}`],
    ['looks again every hour at most', {}, 0, `later ${HOUR_MS}`],
    ['archives it afterwards', {}, 24 * HOUR_MS, 'archive'],
    ['keeps one that has not ended', { bulkExport: anExport('x') }, 99 * HOUR_MS, 'keep'],
    ['waits until what its runs left is cleared away', { isSettled: false }, 24 * HOUR_MS, 'later 60000'],
    ['waits for its webhook', { bulkExport: withWebhook('Unknown') }, 24 * HOUR_MS, 'later 60000'],
    [
      'archives it once the webhook was given up',
      { bulkExport: withWebhook('False') },
      24 * HOUR_MS,
      'archive',
    ],
    ['waits for the end of every run', { runs: [aRun(true), aRun(false)] }, 99 * HOUR_MS, 'keep'],
    [
      'archives the oldest early where more have ended than are kept',
      { siblings: [anExport('x', END), anExport('y', END + 1), anExport('z', END + 2), anExport('w')] },
      HOUR_MS,
      'archive',
    ],
    [
      'keeps as many as are kept',
      { siblings: [anExport('x', END), anExport('y', END - 1), anExport('w')] },
      HOUR_MS,
      `later ${HOUR_MS}`,
    ],
  ])('%s', (_name, changes, afterMs, expected) => expect(decide(changes, afterMs)).toBe(expected));
});

describe('a simulated year of hourly schedules', () => {
  const history = { keptMs: 168 * HOUR_MS, keptExports: 200 };

  /** Largest number of a workspace's exports that the API server holds at any hour. */
  function mostHeld(workspace: number): number {
    let held: BulkExport[] = [];
    let most = 0;
    for (let hour = 0; hour < 8_760; hour++) {
      held.push(anExport(`w${workspace}x${hour}`, END + hour * HOUR_MS));
      const now = new Date(END + hour * HOUR_MS);
      held = held.filter(
        (bulkExport) =>
          decideArchive({
            bulkExport,
            runs: [aRun(true)],
            siblings: [bulkExport],
            history,
            isSettled: true,
            now,
          }).kind !== 'archive',
      );
      const beyond = new Set(beyondHistory(held, history.keptExports));
      held = held.filter((one) => !beyond.has(one));
      most = Math.max(most, held.length);
    }
    return most;
  }

  it('holds a week of ended exports at its fullest hour', () => {
    expect(mostHeld(0)).toBe(168);
  });

  itLong('holds a week of ended exports of each of 50 workspaces', () => {
    for (let workspace = 0; workspace < 50; workspace++) expect(mostHeld(workspace)).toBe(168);
  });
});
