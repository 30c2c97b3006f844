import { describe, expect, it } from '@jest/globals';
import { readCompletion } from './multipart-upload.js';

const NO_RESULT = { code: 'NotAnObjectStore', etag: '' };

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

  it('finds the tag below a root of another name', () => {
    const root = 'CompleteMultipartUploadResponse';
    expect(readCompletion(`<?xml version="1.0"?><${root}><ETag>"abc-2"</ETag></${root}>`)).toEqual({
      etag: 'abc-2',
    });
  });

  it('finds the error, also after blanks that kept the connection', () => {
    const error = '<Error>\n<Message>no</Message><Code>InternalError</Code></Error>';
    expect(readCompletion(`<?xml version="1.0"?>\n${' '.repeat(100_000)}${error}`).code).toBe(
      'InternalError',
    );
    expect(readCompletion(`${' '.repeat(100_000)}<?xml version="1.0"?>${error}`).code).toBe('InternalError');
  });

  it('finds the error of a namespace', () => {
    const error = '<Error xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Code>InternalError</Code></Error>';
    expect(readCompletion(error)).toEqual({ code: 'InternalError', etag: '' });
  });

  it.each([
    ['is empty', ''],
    ['is blank', ' \n '],
    ['has an error without a code', '<?xml version="1.0"?><Error><Message>no</Message></Error>'],
    ['is a page of HTML', '<html><body>Welcome</body></html>'],
    ['is the result of another operation', '<InitiateMultipartUploadResult></InitiateMultipartUploadResult>'],
    ['is HTML with the words of a result', '<html><ETag>abc-2</ETag></html>'],
  ])('finds no result in an answer that %s', (_name, answer) => {
    expect(readCompletion(answer)).toMatchObject(NO_RESULT);
  });
});
