import { describe, expect, it } from '@jest/globals';
import { type ReadRun, renderRun } from './render-run.js';
import { SELECTS } from './run-fields.js';

describe('the metadata of a run', () => {
  it('gives others their turns while it is looked for in a long text', async () => {
    const members = Array.from({ length: 200_000 }, (_, at) => `"member ${at}":[]`);
    const extra = Buffer.from(`{"metadata":{"n":1},${members.join(',')},"metadata":{"n": 2}}`);
    const run = { row: {}, payloads: { extra } } as unknown as ReadRun;
    let [turns, isOver] = [0, false];
    const turn = (): void => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const fields = new Map([SELECTS.get('METADATA') ?? ['', { of: () => undefined }]]);
    const answer = await renderRun(run, fields);
    isOver = true;
    expect(answer.toString()).toBe('{"metadata":{"n": 2}}');
    expect(turns).toBeGreaterThan(8);
  });
});
