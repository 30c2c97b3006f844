import { gauge, GAUGED } from '../testdata/loop-gauge.js';
import { testServer } from '../testdata/test-server.js';

const server = testServer({ env: GAUGED });

const million = (item: string): string => `[${`${item},`.repeat(999_999)}${item}]`;
const rpc = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;

describe('a server that is sent a million wrong items', () => {
  it.each([
    ['fields', '/threads/search', `{"select":${million('1')}}`, 422],
    ['labels', '/store/namespaces', `{"prefix":${million('""')}}`, 422],
    ['paths', '/threads/search', `{"extract":{"a":"values${'.a'.repeat(4_000_000)}"}}`, 422],
    ['updates', '/threads', `{"supersteps":[{"updates":${million('1')}}]}`, 422],
    ['parts', '/a2a/counter', rpc('message/send', `{"message":{"parts":${million('1')}}}`), 200],
  ])('refuses it while others have their turns, with wrong %s', async (_title, path, body, status) => {
    await gauge(server.child);
    const answer = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const text = await answer.text();
    expect([answer.status, text.length < 2_000]).toEqual([status, true]);
    const { blockedMs, grownBytes } = await gauge(server.child);
    expect(blockedMs).toBeLessThan(400);
    expect(grownBytes).toBeLessThan(250e6);
  });
});
