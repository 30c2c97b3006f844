import type { JsonObject } from '#lib/json';
import { compileSchema } from '../compiled-schema/compile-schema.js';
import { recordAt } from '../object/reading.js';
import { applyServerSide } from './apply-server-side.js';
import { trackUpdate } from './track-update.js';

const string = { type: 'string' };
const schema = compileSchema({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: { size: string, map: { type: 'object', additionalProperties: string } },
    },
  },
});

const ruled = compileSchema({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: string },
        keyed: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            properties: {
              name: string,
              a: { ...string, 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] },
            },
          },
        },
      },
    },
  },
});

const apiVersion = 'x.test/v1';
const time = '2026-01-02T03:04:05Z';

test('long lists take time that grows with their length', () => {
  const names = Array.from({ length: 80_000 }, (_, index) => `n${index}`);
  const object = (set: readonly string[], keyed: readonly string[]) => ({
    apiVersion,
    kind: 'X',
    metadata: { name: 'x' },
    spec: { set, keyed: keyed.map((name) => ({ name, a: 'x' })) },
  });
  const startedMs = performance.now();
  const request = { manager: 'm', force: false, schema: ruled, apiVersion, time };
  const made = applyServerSide({ ...request, live: undefined, applied: object(names, []) });
  const live = made.kind === 'applied' ? made.object : {};
  expect(recordAt(live, 'spec')['set']).toHaveLength(names.length);
  expect(applyServerSide({ ...request, live, applied: object(names.toReversed(), []) }).kind).toBe('applied');
  const some = names.slice(0, 20_000);
  expect(ruled.validate(object(names, some.toReversed()), object(names, some))).toEqual([]);
  // each item looked for among all others took minutes
  expect(performance.now() - startedMs).toBeLessThan(60_000);
});

test('thousands of managers, which a client may name, take time that grows with their number', () => {
  const managers = Array.from({ length: 10_000 }, (_, at) => ({
    manager: `m${at}`,
    apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': { 'f:map': { [`f:k${at}`]: {} } } },
  }));
  const named = (operation: string, spec: JsonObject) => ({
    apiVersion,
    kind: 'X',
    spec,
    metadata: { name: 'x', uid: 'u', managedFields: managers.map((one) => ({ ...one, operation })) },
  });
  const startedMs = performance.now();
  const [old, next] = [named('Update', { size: 'a' }), named('Update', { size: 'b' })];
  const updated = trackUpdate({ old, next, manager: 'm', operation: 'Update', schema, apiVersion, time });
  expect(recordAt(updated, 'metadata')['managedFields']).toHaveLength(10);
  const applied = { apiVersion, kind: 'X', metadata: { name: 'x' }, spec: { size: 'c' } };
  const request = { manager: 'm0', force: true, schema, apiVersion, time, applied };
  const made = applyServerSide({
    ...request,
    live: named('Apply', { size: 'a', map: { k0: 'x', k1: 'x' } }),
  });
  // the applier has dropped its own field
  expect(made.kind === 'applied' && made.object['spec']).toEqual({ size: 'c', map: { k1: 'x' } });
  // each put together with all before it took half a minute
  expect(performance.now() - startedMs).toBeLessThan(8_000);
});
