import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { RunChange } from '../wire/run-operation.js';
import { Family } from './family.js';
import type { RunGroup } from './run-group.js';

describe('a family', () => {
  it('finds each parent without a look at the other traces of its id', () => {
    const traces = Array.from({ length: 300 }, () => randomUUID());
    const parent = randomUUID();
    let looks = 0;
    const groupOf = (id: string, trace: string, parentRunId?: string): RunGroup => ({
      id,
      get traceId() {
        looks++;
        return trace;
      },
      operations: [
        {
          operation: { run: Buffer.from('{}') },
          change: { kind: 'post', id, traceId: trace, parentRunId, startTime: 0n, payloads: {} } as RunChange,
        },
      ],
    });
    const parents = traces.map((trace) => groupOf(parent, trace));
    const children = traces.map((trace) => groupOf(randomUUID(), trace, parent));
    const family = new Family([...parents, ...children], new Map(), 0n);
    for (const [at, child] of children.entries())
      expect(family.standingOf(child)).toMatchObject({ traceId: traces[at], ancestors: 1 });
    expect(looks).toBeLessThan(20 * 600);
  });
});
