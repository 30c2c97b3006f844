import { describe, expect, it } from '@jest/globals';
import { MAX_CONNECTIONS, requestLimits, RequestPots } from './request-pots.js';

/** Begins as many as are admitted, up to so many. */
function requestPots() {
  const pots = new RequestPots(requestLimits(), 'requests', ({ username }) => {
    const namespace = /^system:serviceaccount:(.*):listener-/.exec(username)?.[1];
    return namespace === undefined ? undefined : { namespace, count: namespace === 'many' ? 5 : 1 };
  });
  return (count: number, username: string, groups: string[] = []): number => {
    for (let begun = 0; begun < count; begun++)
      try {
        pots.begin({ username, groups }, new AbortController().signal);
      } catch {
        return begun;
      }
    return count;
  };
}

describe('RequestPots', () => {
  it('admits nodes, the proxy of Services and listeners however many requests users have', () => {
    const begin = requestPots();
    let all = 0;
    for (let tenant = 0; tenant < 100; tenant++) all += begin(MAX_CONNECTIONS, `user-${tenant}`);
    expect(all).toBe(1_800);
    for (let tenant = 0; tenant < 100; tenant++)
      all += begin(MAX_CONNECTIONS, `system:serviceaccount:of-${tenant}:agent`);
    expect(all).toBe(1_800);
    expect(begin(50, 'system:node:a', ['system:nodes'])).toBe(50);
    expect(begin(50, 'system:kube-proxy')).toBe(50);
    expect(begin(50, 'system:serviceaccount:of-0:listener-a')).toBe(50);
  });

  it('gives the least to those that come last', () => {
    const begin = requestPots();
    for (let tenant = 0; tenant < 3; tenant++) expect(begin(500, `user-${tenant}`)).toBe(400);
    for (let tenant = 3; tenant < 18; tenant++) expect(begin(500, `user-${tenant}`)).toBe(40);
    expect(begin(500, 'system:node:a', ['system:nodes'])).toBe(300);
    expect(begin(500, 'system:node:b', ['system:nodes'])).toBe(100);
    expect(begin(500, 'system:node:c', ['system:nodes'])).toBe(40);
  });

  it('counts all service accounts of a namespace together until their requests end', () => {
    const pots = new RequestPots(requestLimits(100), 'requests', () => undefined);
    const ended = new AbortController();
    const begin = (username: string): void => pots.begin({ username, groups: [] }, ended.signal);
    for (const account of 'abcdefghij') begin(`system:serviceaccount:red:${account}`);
    expect(() => begin('system:serviceaccount:red:k')).toThrow('system:serviceaccounts:red has 10 requests');
    begin('system:serviceaccount:blue:k');
    ended.abort();
    pots.begin({ username: 'system:serviceaccount:red:k', groups: [] }, new AbortController().signal);
  });

  it('gives a namespace a share for each of its Listeners', () => {
    const begin = requestPots();
    expect(begin(100, 'system:serviceaccount:one:listener-a')).toBe(60);
    expect(begin(100, 'system:serviceaccount:one:listener-b')).toBe(0);
    expect(begin(500, 'system:serviceaccount:many:listener-a')).toBe(260);
  });
});
