import { describe, expect, it } from '@jest/globals';
import { UserRequests } from './user-requests.js';

describe('UserRequests', () => {
  const begin = (requests: UserRequests, username: string, groups: string[] = []): (() => void) => {
    const ended = new AbortController();
    requests.begin({ username, groups }, ended.signal);
    return () => ended.abort();
  };

  it('counts all service accounts of a namespace together', () => {
    const requests = new UserRequests({ most: 2, mostOfAll: 10 }, { what: 'requests' });
    const end = begin(requests, 'system:serviceaccount:a:x');
    begin(requests, 'system:serviceaccount:a:y');
    expect(() => begin(requests, 'system:serviceaccount:a:z')).toThrow('system:serviceaccounts:a has 2');
    begin(requests, 'system:serviceaccount:b:x');
    end();
    begin(requests, 'system:serviceaccount:a:z');
  });

  it('leaves a part to the platform, however many users there are', () => {
    const requests = new UserRequests({ most: 2, mostOfAll: 3 }, { what: 'requests' });
    const ends = ['a', 'b', 'c'].map((user) => begin(requests, user));
    expect(() => begin(requests, 'd')).toThrow('all users together have 3');
    begin(requests, 'platform', ['system:masters']);
    ends[0]?.();
    begin(requests, 'd');
  });

  it('keeps places for those who have the least, and no more than that', () => {
    const limits = { most: 5, mostOfAll: 5, leastOfEach: 2, keptForLeast: 3 };
    const requests = new UserRequests(limits, { what: 'requests' });
    for (let index = 0; index < 5; index++) begin(requests, 'a');
    for (let index = 0; index < 2; index++) begin(requests, 'b');
    expect(() => begin(requests, 'b')).toThrow('all users together have 7');
    begin(requests, 'c');
    expect(() => begin(requests, 'd')).toThrow('all users together have 8');
  });
});
