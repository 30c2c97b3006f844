import { describe, expect, it } from '@jest/globals';
import { compileSchema } from '../compiled-schema/compile-schema.js';

const schemaWith = (rule: string) =>
  compileSchema({
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          items: { type: 'array', items: { type: 'integer' } },
          text: { type: 'string' },
        },
        'x-kubernetes-validations': [{ rule, message: 'the rule' }],
      },
    },
  });
const thing = (spec: object) => ({ apiVersion: 'a/v1', kind: 'Thing', metadata: { name: 'a' }, spec });
const items = Array.from({ length: 3000 }, (_, index) => index);
const text = 'a'.repeat(1_000_000);
const spent = (rule: string) => [rule, { items, text }] as const;

describe('the time limit of rules', () => {
  it.each([
    spent('self.items.all(a, self.items.all(b, self.items.all(c, a + b + c >= 0)))'),
    spent('self.items.exists(a, self.items.exists(b, self.items.exists(c, a + b + c < 0)))'),
    spent('self.items.map(a, self.items.map(b, self.items.map(c, a + b + c).size()).sum()).sum() == 0'),
    spent('self.items.all(a, self.items.all(b, !self.text.contains("b")))'),
  ])('ends %s', (rule, spec) => {
    const schema = schemaWith(rule);
    const errors = schema.validate(thing(spec));
    expect(errors.map(({ field, message }) => `${field}: ${message}`)).toEqual([
      `spec: Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: the rule`,
    ]);
    // what was ended in its middle has left nothing behind
    const small = schema.validate(thing({ items: [1, 2], text: 'a' }));
    expect(small.map(({ message }) => message).join()).not.toContain('cost limit');
    expect(schema.validate(thing({ items: [1, 2], text: 'a' }))).toEqual(small);
  });

  it('leaves rules alone that end in time', () => {
    const rule = 'self.items.all(a, self.items.exists(b, a == b))';
    expect(schemaWith(rule).validate(thing({ items: items.slice(0, 300) }))).toEqual([]);
    expect(schemaWith(`!${rule}`).validate(thing({ items: items.slice(0, 300) }))).toHaveLength(1);
  });
});
