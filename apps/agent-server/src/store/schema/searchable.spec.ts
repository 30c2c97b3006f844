import { storeFixture } from '../../../testdata/store-fixture.js';

const store = storeFixture();

describe('what is searched in stored JSON', () => {
  it.each([
    ['{"a": 1}', { a: 1 }],
    ['{"a": "\\u0000", "b": "x\\u0000y"}', { a: '', b: 'xy' }],
    ['{"a": "half \\ud800 of it"}', { a: 'half  of it' }],
    ['{"a": "the text \\\\u0000"}', { a: 'the text \\u0000' }],
  ])('leaves out of %s what cannot be searched', async (json, expected) => {
    const { rows } = await store.pool.query('SELECT agentplane.searchable($1::json) AS found', [json]);
    expect(rows).toEqual([{ found: expected }]);
  });
});
