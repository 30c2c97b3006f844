import { describe, expect, it } from '@jest/globals';
import { itLong } from '#lib/testing';
import { builtinKinds } from '../builtin/builtin-kinds.js';
import { compileSchema } from '../compiled-schema/compile-schema.js';
import { applyServerSide } from './apply-server-side.js';

const MANY = 50_000;
const time = '2026-01-02T03:04:05Z';
const names = Array.from({ length: MANY }, (_, index) => `f${index}`);

describe('server-side apply', () => {
  it('shows a part of the conflicts, and counts all of them', () => {
    const schema = builtinKinds.find(({ kind }) => kind === 'ConfigMap')?.schema;
    if (!schema) throw new Error('no ConfigMap');
    const fields = Object.fromEntries(names.map((name) => [`f:${name}`, {}]));
    const apply = (keys: readonly string[], owned: object) => {
      const object = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name: 'a',
          managedFields: [
            {
              manager: 'other',
              operation: 'Update',
              apiVersion: 'v1',
              time,
              fieldsType: 'FieldsV1',
              fieldsV1: { 'f:data': owned },
            },
          ],
        },
      };
      const data = Object.fromEntries(keys.map((key) => [key, 'x']));
      const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data };
      const request = { live: object, applied, manager: 'm', force: false, schema, apiVersion: 'v1', time };
      const result = applyServerSide(request);
      if (result.kind !== 'conflict') throw new Error(result.kind);
      return result;
    };
    const many = apply(names, fields);
    expect(many.conflicts).toHaveLength(1_000);
    expect(many.message).toMatch(
      /^Apply failed with 50000 conflicts: .*\n49000 more conflicts are not shown$/s,
    );
    const long = apply(
      ['f0', 'f1'].map((name) => name.repeat(200_000)),
      {
        [`f:${'f0'.repeat(200_000)}`]: {},
        [`f:${'f1'.repeat(200_000)}`]: {},
      },
    );
    expect(long.conflicts).toHaveLength(1);
    expect(long.message).toMatch(/\n1 more conflicts are not shown$/);
  });

  itLong('takes a deep object in little more time than a flat one', () => {
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
        time,
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
