import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { ANNOTATION } from '#lib/resources';
import type { ArchivedExport, TraceStore } from '#lib/trace-store';
import { testApi } from '../testdata/test-api.js';
import { ExportHistory } from './export-history.js';

const OWNER = { tenantId: 't', namespace: 'ws-t' };

function archived(at: number, id = String(at)): ArchivedExport {
  const createdAt = new Date(Date.UTC(2026, 0, 1) - at).toISOString();
  const annotations = { [ANNOTATION.id]: id };
  const metadata = { name: `export-${at}`, creationTimestamp: createdAt, annotations };
  const object = JSON.stringify({ metadata, spec: {}, status: { conditions: [], note: 'x'.repeat(60_000) } });
  return { id, name: metadata.name, createdAt, status: 'COMPLETED', object };
}

describe('the history of exports', () => {
  const { api } = testApi();

  it('has all exports of a schedule, oldest first, however many pages they are', async () => {
    const [tenantId, sourceId] = [randomUUID(), randomUUID()];
    const made = Array.from({ length: 7 }, (_one, at) => ({ ...archived(at, randomUUID()), sourceId }));
    for (const one of made) await api.store.exportArchive.store(tenantId, { ...one, small: one.object }, []);
    const history = new ExportHistory(
      { find: () => undefined, list: () => [] },
      { filter: () => [] },
      api.store.exportArchive,
    );
    for (const size of [1, 2, 7, 100]) {
      const names: (string | undefined)[] = [];
      const wanted = { sourceId, isListed: () => true };
      for await (const { bulkExport } of history.oldestFirst({ ...OWNER, tenantId }, wanted, size))
        names.push(bulkExport.metadata.name);
      expect(names).toEqual(made.map(({ name }) => name).toReversed());
    }
  });

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
