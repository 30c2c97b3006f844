import { createHash } from 'node:crypto';
import { PartHashes } from './copy-objects.js';

const md5 = (bytes: Buffer): Buffer => createHash('md5').update(bytes).digest();

describe('PartHashes', () => {
  it.each([
    ['nothing', '', md5(Buffer.alloc(0)).toString('hex')],
    ['one part', 'abcd', md5(Buffer.from('abcd')).toString('hex')],
    [
      'parts, the last of them shorter',
      'abcdefghi',
      `${md5(Buffer.concat(['abcd', 'efgh', 'i'].map((part) => md5(Buffer.from(part))))).toString('hex')}-3`,
    ],
    [
      'parts that are full',
      'abcdefgh',
      `${md5(Buffer.concat(['abcd', 'efgh'].map((part) => md5(Buffer.from(part))))).toString('hex')}-2`,
    ],
  ])('names %s as stores do, however the bytes arrive', (_, text, etag) => {
    for (const size of [1, 3, 100]) {
      const hashes = new PartHashes(4);
      for (let at = 0; at < text.length; at += size) hashes.add(Buffer.from(text.slice(at, at + size)));
      const sha256 = createHash('sha256').update(text).digest('hex');
      expect(hashes.finish()).toEqual({ bytes: text.length, etag, sha256 });
    }
  });
});
