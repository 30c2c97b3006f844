import { randomUUID } from 'node:crypto';
import { describe, expect, it, jest } from '@jest/globals';
import { atOnce } from '#lib/json';
import { newPairRows } from '../run/run-pairs.js';
import { parseOperation } from '../wire/parse-operation.js';
import type { RunChange } from '../wire/run-operation.js';
import { metadataPairs } from './scalar-pairs.js';

function changeWith(extra: string, kind: 'post' | 'patch' = 'post'): RunChange {
  const run = Buffer.from('{"name":"n","run_type":"llm"}');
  const operation = { run, id: randomUUID(), fields: { extra: Buffer.from(extra) } };
  const parsed = atOnce(parseOperation(kind, operation));
  if (!('change' in parsed)) throw new Error(JSON.stringify(parsed.problems));
  return parsed.change;
}

const place = {
  tenantId: randomUUID(),
  projectId: randomUUID(),
  traceId: randomUUID(),
  id: randomUUID(),
  startTime: 0n,
};

/** Number of turns that the event loop takes while `work` runs. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  try {
    await work();
    return turns;
  } finally {
    clearImmediate(next);
  }
}

describe('metadataPairs', () => {
  it('takes the last metadata of extra, whatever stands beside it', () => {
    const pairsIn = (extra: string) => {
      const change = changeWith(extra);
      return metadataPairs([change], change.payloads.extra).read();
    };
    expect(pairsIn('{"metadata":{"a":1},"x":{"metadata":{"a":2}},"metadata":{"a":3}}')).toEqual([
      { key: 'a', value: '3' },
    ]);
    for (const none of [
      '{"metadata":{"a":1},"metadata":[1]}',
      '{"x":{"metadata":{"a":1}}}',
      '[{"metadata":1}]',
    ])
      expect(pairsIn(none)).toEqual([]);
    expect(pairsIn('{"x":NaN,"metadata":{"a":NaN,"b":1}}')).toEqual([{ key: 'b', value: '1' }]);
  });

  it('takes the metadata of the change whose extra is stored', () => {
    const changes = ['a', 'b'].map((name) => changeWith(`{"metadata":{"${name}":1}}`, 'patch'));
    for (const [at, key] of ['a', 'b'].entries())
      expect(metadataPairs(changes, changes[at]?.payloads.extra).read()).toEqual([{ key, value: '1' }]);
    expect(metadataPairs(changes, undefined).read()).toEqual([]);
  });

  it('walks through extra no second time', () => {
    const change = changeWith(`{"x":[${'1,'.repeat(1000)}1],"metadata":{"a":1},"y":1}`);
    const { extra } = change.payloads;
    const at = extra?.indexOf('"metadata"') ?? 0;
    // a walk would fail here
    extra?.fill(0xff, 0, at);
    expect(metadataPairs([change], extra).read()).toEqual([{ key: 'a', value: '1' }]);
  });

  it('looks into the first 64 KiB alone, in strings of quotes as well', () => {
    const quotes = String.raw`\"`.repeat(2 << 20);
    for (const metadata of [`{"a":"${quotes}"}`, `{"${quotes}":1}`, `{"a":{"b":["${quotes}"]}}`]) {
      const change = changeWith(`{"metadata":${metadata}}`);
      const search = jest.spyOn(Buffer.prototype, 'indexOf');
      try {
        const pairs = metadataPairs([change], change.payloads.extra).read();
        expect(pairs.map(({ value }) => value)).toEqual(metadata.startsWith('{"a') ? ['"'.repeat(250)] : []);
        expect(search.mock.calls.length).toBeLessThan(70_000);
      } finally {
        search.mockRestore();
      }
    }
  });

  it('gives way while those of many runs are read', async () => {
    const change = changeWith(`{"metadata":{"a":[${'null,'.repeat(20_000)}1]}}`);
    const pairs = metadataPairs([change], change.payloads.extra);
    const entries = Array.from({ length: 100 }, () => ({ place, pairs }));
    const turns = await turnsDuring(async () => {
      for await (const { table } of newPairRows(entries)) expect(table).toBe('run_pairs');
    });
    // 64 KiB each, 128 KiB at a time
    expect(turns).toBeGreaterThan(45);
  });
});
