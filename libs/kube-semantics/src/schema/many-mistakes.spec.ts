import { describe, expect, it } from '@jest/globals';
import { itLong } from '#lib/testing';
import { compileSchema } from '../compiled-schema/compile-schema.js';
import { builtinKinds } from '../builtin/builtin-kinds.js';
import { parseQuantity } from '../quantity/quantity.js';
import { invalid } from '../status/errors.js';
import type { FieldError } from './field-error.js';
import { validateObjectMeta } from './object-meta.js';

const MANY = 50_000;
const each = <T>(make: (index: number) => T): T[] => Array.from({ length: MANY }, (_, index) => make(index));
const names = (prefix: string) => Object.fromEntries(each((index) => [`${prefix}${index}`, '!']));
const kind = (name: string) => builtinKinds.find((one) => one.kind === name);
const meta = (metadata: object): readonly FieldError[] =>
  validateObjectMeta(
    { metadata: { name: 'a', namespace: 'b', ...metadata } },
    { namespaced: true, nameRule: 'dns-subdomain' },
  );
const pod = (container: object): object => ({
  spec: { containers: [{ name: 'a', image: 'b', ...container }] },
});
const selecting = (selector: object): readonly FieldError[] =>
  kind('ReplicaSet')?.validate({ spec: { selector } }) ?? [];
const open = compileSchema({
  type: 'object',
  properties: {
    list: { type: 'array', items: { type: 'string', maxLength: 1 } },
    map: { type: 'object', additionalProperties: { type: 'integer' } },
    ruled: {
      type: 'array',
      items: { type: 'string', 'x-kubernetes-validations': [{ rule: 'size(self) > 100' }] },
    },
  },
});

describe('an object with more mistakes than anybody reads', () => {
  it.each<[string, () => readonly FieldError[]]>([
    ['labels', () => meta({ labels: names('!') })],
    ['annotations', () => meta({ annotations: names('!') })],
    ['finalizers', () => meta({ finalizers: each((index) => `!${index}`) })],
    ['keys of a ConfigMap', () => kind('ConfigMap')?.validate({ data: names('/') }) ?? []],
    ['texts that are none', () => kind('ConfigMap')?.validate({ data: { ...each(() => 1) } }) ?? []],
    ['variables of a container', () => kind('Pod')?.validate(pod({ env: each(() => ({})) }) as never) ?? []],
    ['quantities', () => kind('Pod')?.validate(pod({ resources: { limits: names('x') } }) as never) ?? []],
    ['subjects', () => kind('RoleBinding')?.validate({ subjects: each(() => ({})) }) ?? []],
    ['items of a custom list', () => open.validate({ list: each(() => 'aa') })],
    ['values of a custom map', () => open.validate({ map: names('a') })],
    ['items that break a rule', () => open.validate({ ruled: each(() => 'a') })],
  ])('shows some of them: %s', (_, find) => {
    const errors = find();
    expect(errors.length).toBeGreaterThan(1);
    expect(errors.length).toBeLessThan(6_000);
    const { message, details } = invalid({ group: '', kind: 'Thing' }, 'a', errors);
    expect(details?.causes).toHaveLength(101);
    expect(message).toMatch(/, \d+ more mistakes are not shown\]$/);
    expect(message.length).toBeLessThan(300_000);
  });

  it('shows all of a hundred mistakes, and one that is long whole', () => {
    const long = [{ message: 'x'.repeat(1_000_000) }];
    expect(invalid({ group: '', kind: 'Thing' }, 'a', long).details?.causes).toEqual(long);
    const hundred = Array.from({ length: 100 }, (_, index) => ({ message: String(index) }));
    expect(invalid({ group: '', kind: 'Thing' }, 'a', hundred).details?.causes).toEqual(hundred);
  });

  it('shows all owners once, however many of them control it', () => {
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'a', uid: 'b', controller: true };
    expect(meta({ ownerReferences: [owner, owner, owner] })).toHaveLength(1);
    expect(meta({ ownerReferences: each(() => owner).slice(0, 100) })).toHaveLength(1);
  });

  it.each<[string, string, () => readonly FieldError[]]>([
    [
      'owners',
      'metadata.ownerReferences',
      () =>
        meta({
          ownerReferences: each((index) => ({ apiVersion: 'v1', kind: 'Pod', name: 'a', uid: `u${index}` })),
        }),
    ],
    ['labels of a selector', 'spec.selector.matchLabels', () => selecting({ matchLabels: names('a') })],
    [
      'expressions of a selector',
      'spec.selector.matchExpressions',
      () =>
        selecting({ matchExpressions: each((index) => ({ key: `a${index}`, operator: 'DoesNotExist' })) }),
    ],
    [
      'values of a selector',
      'spec.selector.matchExpressions.values',
      () =>
        selecting({
          matchExpressions: [{ key: 'a', operator: 'NotIn', values: each((index) => `v${index}`) }],
        }),
    ],
    [
      "labels of a Service's selector",
      'spec.selector',
      () => kind('Service')?.validate({ spec: { selector: names('a'), ports: [{ port: 1 }] } }) ?? [],
    ],
  ])('refuses more than controllers can look at: %s', (_, field, find) => {
    expect(find()[0]).toMatchObject({ field, reason: 'FieldValueTooMany' });
  });

  it('reports a part of the unknown fields below a long key', () => {
    const fields = Object.fromEntries(each((index) => [`f${index}`, 1]));
    const pruned = (data: object) => kind('ConfigMap')?.schema.prune({ metadata: { name: 'a' }, data });
    const { object, unknownFields = [] } = pruned({ ['k'.repeat(100_000)]: fields }) ?? {};
    expect(Object.values(object?.data ?? {})).toEqual([{}]);
    expect(unknownFields.length).toBeGreaterThan(0);
    expect(unknownFields.join('').length).toBeLessThan(300_000);
    expect(pruned({ k: fields })?.unknownFields).toHaveLength(1_000);
    expect(pruned({ ['k'.repeat(1_000_000)]: fields })?.unknownFields).toHaveLength(1);
  });

  itLong('has quantities read in no more time than their length is worth', () => {
    const startedMs = performance.now();
    expect(parseQuantity(`${'1'.repeat(1_000_000)}x`)).toBeUndefined();
    expect(parseQuantity('1'.repeat(1_000_000))).toBeUndefined();
    expect(parseQuantity('1.Gi')?.nano).toBe(1024n ** 3n * 10n ** 9n);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });
});
