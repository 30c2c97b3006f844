import { describe, expect, it } from '@jest/globals';
import type { ArchivedExport, TraceStore } from '#lib/trace-store';
import { ExportHistory } from './export-history.js';

const OWNER = { tenantId: 't', namespace: 'ws-t' };

function archived(at: number): ArchivedExport {
  const createdAt = new Date(Date.UTC(2026, 0, 1) - at).toISOString();
  const metadata = { name: `export-${at}`, creationTimestamp: createdAt };
  const object = JSON.stringify({ metadata, spec: {}, status: { conditions: [], note: 'x'.repeat(60_000) } });
  return { id: String(at), name: metadata.name, createdAt, status: 'COMPLETED', object };
}

describe('the history of exports', () => {
  it('lets others be served while it parses what is archived', async () => {
    const stored = Array.from({ length: 60 }, (_one, at) => archived(at));
    const archive = { list: async () => stored } as unknown as TraceStore['exportArchive'];
    const history = new ExportHistory(
      { find: () => undefined, list: () => [] },
      { filter: () => [] },
      archive,
    );
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const found = await history.list(OWNER, { isListed: () => true, offset: 0, limit: 1_000 });
    isOver = true;
    expect(found.map(({ bulkExport }) => bulkExport.metadata.name)).toEqual(stored.map(({ name }) => name));
    // four objects at once
    expect(turns).toBeGreaterThanOrEqual(14);
  });
});
