import { describe, expect, it } from '@jest/globals';
import { readCompletion } from './completion-answer.js';

describe('readCompletion', () => {
  it.each([
    ['&quot;abc-2&quot;', 'abc-2'],
    ['"abc-2"', 'abc-2'],
    ['&#34;abc-2&#34;', 'abc-2'],
    ['abc-2', 'abc-2'],
  ])('finds the tag %s', (written, etag) => {
    const text = `<CompleteMultipartUploadResult><ETag>${written}</ETag></CompleteMultipartUploadResult>`;
    expect(readCompletion(text)).toEqual({ etag });
  });

  it('finds the error, also after blanks that kept the connection', () => {
    const error = '<Error>\n<Message>no</Message><Code>InternalError</Code></Error>';
    expect(readCompletion(`<?xml version="1.0"?>\n${' '.repeat(100_000)}${error}`).code).toBe(
      'InternalError',
    );
    expect(readCompletion(`${' '.repeat(100_000)}<?xml version="1.0"?>${error}`).code).toBe('InternalError');
  });

  it.each(['<Error>', '<Error><Code>', '<ETag>', ' ', '< '])(
    'takes no time over megabytes of %j',
    (piece) => {
      const before = performance.now();
      expect(readCompletion(piece.repeat((8 << 20) / piece.length))).toEqual({ etag: '' });
      expect(performance.now() - before).toBeLessThan(1_000);
    },
  );
});
