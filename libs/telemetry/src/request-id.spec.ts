import { describe, expect, it } from '@jest/globals';
import { requestId } from './observe-requests.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe('the id of a request', () => {
  it.each(['a', 'abc-123', 'Root=1-67891233-abcdef012345678912345678', crypto.randomUUID(), 'x'.repeat(128)])(
    'keeps the well-formed %s',
    (header) => expect(requestId(header)).toBe(header),
  );

  it.each([undefined, '', ' ', 'a b', 'a\nb', 'ä', '"', '-a', 'x'.repeat(129), ['a', 'b']])(
    'replaces %j by a new one',
    (header) => expect(requestId(header)).toMatch(UUID),
  );
});
