import { decodeChunks } from './request-body.js';
import type { S3Error } from './s3-error.js';
import type { S3Request } from './s3-request.js';
import { type StoreUsers, unrestrictedUser } from './users/store-user.js';
import { verifySignature, type Signed } from './signature.js';

// The worked example of AWS's own description of signed chunks: 65 KiB of "a" in two chunks.
const USERS: StoreUsers = { find: () => unrestrictedUser(CREDENTIALS) };
const CREDENTIALS = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};
const HEADERS: Record<string, string> = {
  'content-encoding': 'aws-chunked',
  'content-length': '66824',
  host: 's3.amazonaws.com',
  'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
  'x-amz-date': '20130524T000000Z',
  'x-amz-decoded-content-length': '66560',
  'x-amz-storage-class': 'REDUCED_REDUNDANCY',
};
const REQUEST: S3Request = {
  method: 'PUT',
  bucket: 'examplebucket',
  key: 'chunkObject.txt',
  query: new Map(),
  canonicalPath: '/examplebucket/chunkObject.txt',
  queryPairs: [],
  headers: {
    ...HEADERS,
    authorization:
      `AWS4-HMAC-SHA256 Credential=${CREDENTIALS.accessKeyId}/20130524/us-east-1/s3/aws4_request, ` +
      `SignedHeaders=${Object.keys(HEADERS).sort().join(';')}, ` +
      'Signature=4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9',
  },
};
const CHUNKS: readonly (readonly [size: number, signature: string])[] = [
  [65536, 'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648'],
  [1024, '0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497'],
  [0, 'b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9'],
];
const BODY = CHUNKS.map(
  ([size, signature]) => `${size.toString(16)};chunk-signature=${signature}\r\n${'a'.repeat(size)}\r\n`,
).join('');

function verify(): Signed {
  return verifySignature(REQUEST, USERS, new Date('2013-05-24T00:01:00Z'));
}

async function decode(body: string, pieceBytes: number, signed = verify()): Promise<string> {
  async function* pieces(): AsyncGenerator<Buffer> {
    const bytes = Buffer.from(body);
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
  const decoded: Buffer[] = [];
  try {
    for await (const piece of decodeChunks(pieces(), signed)) decoded.push(piece);
  } catch (error) {
    return (error as S3Error).code;
  }
  return Buffer.concat(decoded).toString();
}

describe('decoder of signed chunks', () => {
  it.each([1, 7, 1000, 1_000_000])('decodes pieces of %d bytes', async (pieceBytes) => {
    expect(await decode(BODY, pieceBytes)).toBe('a'.repeat(66560));
  });

  it.each([
    ['with another byte', BODY.replace('a\r\n400', 'b\r\n400'), 'SignatureDoesNotMatch'],
    ['with another signature', BODY.replace('0055', '0056'), 'SignatureDoesNotMatch'],
    ['without signatures', BODY.replace(/;chunk-signature=\w+/g, ''), 'SignatureDoesNotMatch'],
    ['that end early', BODY.slice(0, -100), 'IncompleteBody'],
    ['without a size', `x${BODY}`, 'InvalidArgument'],
  ])('refuses %s', async (_name, body, code) => {
    expect(await decode(body, 5000)).toBe(code);
  });

  it('decodes chunks without signatures and with a trailer when the payload is unsigned', async () => {
    const signed = { ...verify(), payload: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER' };
    const body = '5\r\nhello\r\n6\r\n world\r\n0\r\nx-amz-checksum-crc32:DUoRhQ==\r\n\r\n';
    expect(await decode(body, 3, signed)).toBe('hello world');
  });
});

describe('the signature of a request', () => {
  it.each([
    ['path', { canonicalPath: '/examplebucket/other.txt' }],
    ['method', { method: 'GET' }],
    ['query', { queryPairs: [['acl', '']] as const }],
    ['signed header', { headers: { ...REQUEST.headers, 'x-amz-storage-class': 'STANDARD' } }],
  ])('fails for another %s', (_name, change) => {
    expect(() => verifySignature({ ...REQUEST, ...change }, USERS, new Date('2013-05-24T00:01:00Z'))).toThrow(
      'does not match',
    );
  });

  it('refuses a signed header that is named twice, or is no header', () => {
    const now = new Date('2013-05-24T00:01:00Z');
    const naming = (names: string) => ({
      ...REQUEST,
      headers: {
        ...REQUEST.headers,
        authorization: (REQUEST.headers.authorization ?? '').replace(
          /SignedHeaders=[^,]*/,
          `SignedHeaders=${names}`,
        ),
      },
    });
    expect(() => verifySignature(naming('host;host'), USERS, now)).toThrow('malformed');
    expect(() => verifySignature(naming('constructor;host'), USERS, now)).toThrow('does not match');
  });

  it('refuses a signature whose time differs by more than 15 minutes', () => {
    expect(() => verifySignature(REQUEST, USERS, new Date('2013-05-24T00:16:00Z'))).toThrow('clocks');
  });
});
