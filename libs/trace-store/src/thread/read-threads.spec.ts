import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { testTraceStore } from '../../testdata/test-trace-store.js';

describe('a thread', () => {
  const db = testTraceStore();

  it('begins and ends with the payloads of roots whose ids are not those of their traces', async () => {
    const tenant = randomUUID();
    const rootOf = (at: number, more: object) => ({
      ...{ id: randomUUID(), trace_id: randomUUID(), name: 'r', run_type: 'chain', session_name: 'p' },
      ...{ start_time: `2026-11-20T10:00:0${at}Z`, extra: { metadata: { thread_id: 't' } }, ...more },
    });
    const roots = [
      rootOf(0, { inputs: { q: 'first' }, outputs: { a: 1 } }),
      rootOf(1, { inputs: { q: 'second' }, outputs: { a: 2 }, error: 'failed at last' }),
    ];
    const post = roots.map((run) => ({ run: Buffer.from(JSON.stringify(run)) }));
    await db.store.ingest(tenant, { post, patch: [] });
    const projectId = (await db.store.projects.find(tenant, { name: 'p' }))?.id ?? '';
    const { threads } = await db.store.threads.list(tenant, { projectId }, { limit: 10 });
    expect(threads).toMatchObject([
      {
        ...{ threadId: 't', traces: 2, failed: 1 },
        ...{ firstTraceId: roots[0]?.trace_id, lastTraceId: roots[1]?.trace_id },
        ...{ firstInputs: '{"q":"first"}', lastOutputs: '{"a":2}', lastError: 'failed at last' },
      },
    ]);
  });
});
