import { describe, expect, it } from '@jest/globals';
import { compileSchema } from '../compiled-schema/compile-schema.js';
import { applyServerSide } from './apply-server-side.js';

const names = Array.from({ length: 50_000 }, (_, index) => `f${index}`);

describe('server-side apply', () => {
  it('takes a deep object in little more time than a flat one', () => {
    const spec = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const schema = compileSchema({ type: 'object', properties: { spec } });
    const leaves: unknown = Object.fromEntries(names.map((name) => [name, 1]));
    const msOf = (levels: number): number => {
      const nested = Array.from({ length: levels }).reduce((inner) => ({ a: inner }), leaves);
      const applied = { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'a' }, spec: nested };
      const request = {
        applied,
        manager: 'm',
        force: false,
        schema,
        apiVersion: 'x/v1',
        time: '2026-01-02T03:04:05Z',
      };
      const startedMs = performance.now();
      const first = applyServerSide({ ...request, live: undefined });
      if (first.kind !== 'applied') throw new Error(first.kind);
      expect(applyServerSide({ ...request, live: first.object }).kind).toBe('applied');
      return performance.now() - startedMs;
    };
    const flatMs = Math.min(msOf(1), msOf(1));
    expect(msOf(450)).toBeLessThan(2 * flatMs + 200);
  });
});
