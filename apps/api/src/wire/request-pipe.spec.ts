import 'reflect-metadata';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { PublicError, type FieldProblem } from '#lib/errors';
import { FreeObject, Nested, NestedList, Text, TextList } from './fields.js';
import { RequestPipe } from './request-pipe.js';

let made = 0;

class Item {
  constructor() {
    made++;
  }

  @Text({ required: true }) name: string;
  @FreeObject() data?: object | null;
}

class Group {
  @NestedList(() => Item, { maxSize: 40 }) items?: Item[] | null;
}

class Order {
  @Nested(() => Group) group?: Group | null;
  @NestedList(() => Group, { maxSize: 10 }) groups?: Group[] | null;
  @TextList({ maxSize: 3 }) words?: string[] | null;
}

const pipe = new RequestPipe();
const sent = async (body: object): Promise<readonly FieldProblem[]> => {
  const error: unknown = await pipe.transform(body, { type: 'body', metatype: Order }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error === undefined) return [];
  if (!(error instanceof PublicError)) throw error;
  return error.problems;
};
const many = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);
const unknown = (count: number): object =>
  Object.fromEntries(many(count, 0).map((_, n): [string, number] => [`n${n}`, 1]));

describe('the check of a body', () => {
  beforeEach(() => {
    made = 0;
  });

  it('takes lists that are as long as they may be', async () => {
    const items = many(40, { name: 'n' });
    expect(await sent({ group: { items }, groups: [{ items }], words: ['a', 'b', 'c'] })).toEqual([]);
    expect(made).toBe(80);
  });

  it('refuses a list that is too long before it makes an item of it', async () => {
    const problems = await sent({ group: { items: many(41, {}) }, words: ['a', 'b', 'c', 'd'] });
    expect(problems).toEqual([
      { loc: ['body', 'group', 'items'], msg: 'List should have at most 40 items', type: 'too_long' },
      { loc: ['body', 'words'], msg: 'List should have at most 3 items', type: 'too_long' },
    ]);
    expect(made).toBe(0);
  });

  it.each<[string, object]>([
    ['one object', { group: unknown(1000) }],
    ['the items of a list', { groups: many(10, { items: many(20, unknown(10)) }) }],
  ])(
    'refuses very many unknown names of %s before it makes an item, with 100 problems',
    async (_name, body) => {
      const problems = await sent(body);
      expect([problems.length, problems[0]?.type, made]).toEqual([100, 'extra_forbidden', 0]);
    },
  );

  it('answers 100 problems of many', async () => {
    expect(await sent({ groups: many(10, { items: many(40, {}) }) })).toHaveLength(100);
  });

  it('takes any JSON that is data, whatever its members are named', async () => {
    const data = { constructor: 'Ferrari', toString: { constructor: [1] }, deep: [{ hasOwnProperty: null }] };
    const body = { group: { items: [{ name: 'n', data }] } };
    const order = (await pipe.transform(body, { type: 'body', metatype: Order })) as Order;
    expect(order.group?.items?.[0]).toBeInstanceOf(Item);
    expect(order.group?.items?.[0]?.data).toEqual(data);
  });

  it('refuses a field named as a member of every object', async () => {
    for (const name of ['constructor', 'toString', 'hasOwnProperty'])
      expect(await sent({ group: { items: [{ name: 'n', [name]: {} }] } })).toEqual([
        {
          loc: ['body', 'group', 'items', 0, name],
          msg: 'Extra inputs are not permitted',
          type: 'extra_forbidden',
        },
      ]);
  });

  it('answers each problem of few', async () => {
    expect(await sent({ x: 1, groups: [{ y: 2 }, { items: [{}] }] })).toEqual([
      { loc: ['body', 'x'], msg: 'Extra inputs are not permitted', type: 'extra_forbidden' },
      { loc: ['body', 'groups', 0, 'y'], msg: 'Extra inputs are not permitted', type: 'extra_forbidden' },
      { loc: ['body', 'groups', 1, 'items', 0, 'name'], msg: 'Field required', type: 'missing' },
    ]);
  });
});
