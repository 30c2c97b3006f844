import { describe, expect, it } from '@jest/globals';
import { readCompletion } from './multipart-upload.js';

describe('readCompletion', () => {
  it.each(['<Error>', '<Error><Code>', '<ETag>', ' ', '< '])(
    'takes no time over megabytes of %j',
    (piece) => {
      const before = performance.now();
      expect(readCompletion(piece.repeat((8 << 20) / piece.length))).toEqual({
        code: 'NotAnObjectStore',
        etag: '',
      });
      expect(performance.now() - before).toBeLessThan(1_000);
    },
  );
});
