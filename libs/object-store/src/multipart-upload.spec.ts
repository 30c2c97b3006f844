import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fastClock } from '#lib/testing';
import { type MultipartUpload, ObjectStoreError, openObjectStore, type ObjectStore } from './index.js';
import { MARK_NAME } from './object-stat.js';

const MARK = 'mine';
const MARK_HEADER = `x-amz-meta-${MARK_NAME}`;
const BODY = Buffer.from('ten bytes!');
const PART_MD5 = createHash('md5').update(BODY).digest();

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Purpose of a request, which S3 encodes in method and query. */
type Call = 'begin' | 'part' | 'complete' | 'abort' | 'look' | 'put';

function callOf({ method, url = '' }: IncomingMessage): Call {
  const { searchParams } = new URL(url, 'http://store');
  if (method === 'HEAD') return 'look';
  if (method === 'DELETE') return 'abort';
  if (method === 'PUT') return searchParams.has('partNumber') ? 'part' : 'put';
  return searchParams.has('uploads') ? 'begin' : 'complete';
}

const refused = (status: number, code: string): Answer => ({
  status,
  body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>x</Message></Error>`,
});
const CONFLICT = refused(409, 'ConditionalRequestConflict');
const COMPLETED: Answer = {
  status: 200,
  body: '<CompleteMultipartUploadResult><ETag>"done-1"</ETag></CompleteMultipartUploadResult>',
};
const USUAL: Readonly<Record<Call, Answer>> = {
  begin: {
    status: 200,
    body: '<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>',
  },
  part: { status: 200, headers: { etag: `"${PART_MD5.toString('hex')}"` } },
  complete: COMPLETED,
  abort: { status: 204 },
  look: {
    status: 200,
    headers: {
      'content-length': String(BODY.length),
      etag: '"done-1"',
      'last-modified': 'Fri, 20 Nov 2026 00:00:00 GMT',
      [MARK_HEADER]: MARK,
    },
  },
  put: { status: 200, headers: { etag: '"put"' } },
};

const looksLike = (headers: Readonly<Record<string, string>>): Answer => ({
  ...USUAL.look,
  headers: { ...USUAL.look.headers, ...headers },
});
/** Answer of a store that drops the metadata that users add to objects. */
function withoutMark(headers: Readonly<Record<string, string>>): Answer {
  const { [MARK_HEADER]: _dropped, ...rest } = { ...USUAL.look.headers, ...headers };
  return { ...USUAL.look, headers: rest };
}

/** A store whose answers a test chooses: no real store gives these on demand. */
describe('an upload to a store with answers of its own', () => {
  let server: Server;
  let store: ObjectStore;
  let asked: Call[];
  /** Answers that are taken one after the other; afterwards the usual ones. */
  let answers: Partial<Record<Call, (Answer | 'lost')[]>>;

  /** True when the bucket has Object Lock, whose writes need a checksum. */
  let isLocked: boolean;
  const md5Of = (body: Buffer): string => createHash('md5').update(body).digest('base64');

  beforeEach(async () => {
    isLocked = false;
    asked = [];
    answers = {};
    server = createServer((request, response) => {
      void buffer(request).then((body) => {
        const call = callOf(request);
        asked.push(call);
        if (isLocked && request.method === 'PUT' && request.headers['content-md5'] !== md5Of(body)) {
          const { status, body: refusal } = refused(400, 'InvalidRequest');
          return void response.writeHead(status).end(refusal);
        }
        const answer = answers[call]?.shift() ?? USUAL[call];
        if (answer === 'lost') return void request.socket.destroy();
        response.writeHead(answer.status, answer.headers).end(call === 'look' ? undefined : answer.body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const keys = { accessKeyId: 'AKTEST', secretAccessKey: 'secret' };
    store = openObjectStore({ endpoint, allowPrivateEndpoints: true, ...keys }, fastClock(50));
  });
  afterEach(() => {
    store.close();
    server.closeAllConnections();
    server.close();
  });

  async function begin(): Promise<MultipartUpload> {
    const upload = await store.startMultipartUpload('bkt', 'k', { onlyIfAbsent: true, mark: MARK });
    await upload.write(BODY);
    return upload;
  }
  const failure = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'no error',
      (error: unknown) => error,
    );
  const completions = (): number => asked.filter((call) => call === 'complete').length;

  it('writes objects and parts with a checksum, which buckets with Object Lock demand', async () => {
    isLocked = true;
    expect(await store.put('bkt', 'k', 'x')).toEqual({ etag: 'put' });
    expect(await (await begin()).complete()).toMatchObject({ isVerified: true });
  });

  it('reports that size and mark were verified', async () => {
    expect(await (await begin()).complete()).toEqual({ size: 10, etag: 'done-1', isVerified: true });
  });

  it('reports that nothing was verified where reading is refused', async () => {
    answers.look = [refused(403, 'AccessDenied')];
    expect(await (await begin()).complete()).toEqual({ size: 10, etag: 'done-1', isVerified: false });
  });

  it.each<[string, Answer, string]>([
    ['of another size', looksLike({ 'content-length': '9' }), 'verify k: 10 bytes written, 9 stored'],
    ['that does not exist', { status: 404 }, 'verify k: 10 bytes written, none stored'],
  ])(
    'fails with SizeMismatch, which another attempt may mend, on an object %s',
    async (_name, look, words) => {
      answers.look = [look];
      const error = await failure((await begin()).complete());
      expect(error).toBeInstanceOf(ObjectStoreError);
      expect(error).toMatchObject({ code: 'SizeMismatch', retryable: true, isConfiguration: false });
      expect(String(error)).toContain(words);
    },
  );

  it.each<[string, Answer]>([
    ['marked as that of another upload', looksLike({ [MARK_HEADER]: 'theirs' })],
    ['without a mark, and with another etag', withoutMark({ etag: '"theirs-1"' })],
  ])('fails with ObjectReplaced on an object %s', async (_name, look) => {
    answers.look = [look];
    expect(await failure((await begin()).complete())).toMatchObject({
      code: 'ObjectReplaced',
      attempted: 'verify k',
      isConfiguration: false,
    });
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ['the etag of the completion', {}],
    ['the etag that its parts make', { etag: `"${createHash('md5').update(PART_MD5).digest('hex')}-1"` }],
  ])('reports that no mark was verified on a store that keeps none, by %s', async (_name, headers) => {
    answers.look = [withoutMark(headers)];
    expect(await (await begin()).complete()).toEqual({ size: 10, etag: 'done-1', isVerified: false });
  });

  it.each<[string, string, string]>([
    ['is empty', '', 'NotAnObjectStore'],
    ['is the page of a proxy', '<html><body>Welcome</body></html>', 'NotAnObjectStore'],
    ['is an error without a code', '<Error><Message>no</Message></Error>', 'NotAnObjectStore'],
  ])(
    'fails where every good answer to the completion %s, without the right to look',
    async (_name, body, code) => {
      answers.look = [refused(403, 'AccessDenied'), refused(403, 'AccessDenied')];
      answers.complete = [
        { status: 200, body },
        { status: 200, body },
      ];
      const upload = await begin();
      expect(await failure(upload.complete())).toMatchObject({ code, isConfiguration: false });
      await upload.abort();
      expect(asked).toEqual(['begin', 'part', 'complete', 'look', 'complete', 'look', 'abort']);
    },
  );

  it('fails where the good answer to the completion is an error with a namespace', async () => {
    const error =
      '<Error xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Code>InvalidPart</Code><Message>no part 1</Message></Error>';
    answers.complete = [{ status: 200, body: error }];
    expect(await failure((await begin()).complete())).toMatchObject({
      code: 'InvalidPart',
      sentence: 'no part 1',
      isConfiguration: false,
    });
    expect(asked).toEqual(['begin', 'part', 'complete']);
  });

  it.each([
    ['is empty', ''],
    ['is the page of a proxy', '<html><body>Welcome</body></html>'],
  ])('finds its object at once where the good answer to the completion %s', async (_name, body) => {
    answers.complete = [{ status: 200, body }];
    expect(await (await begin()).complete()).toMatchObject({ etag: 'done-1', isVerified: true });
    expect(completions()).toBe(1);
  });

  it('asks once more after an unclear answer without the right to look, and takes a missing upload for completed', async () => {
    answers.complete = [{ status: 200, body: '' }, refused(404, 'NoSuchUpload')];
    answers.look = Array.from({ length: 3 }, () => refused(403, 'AccessDenied'));
    expect(await (await begin()).complete()).toMatchObject({ size: 10, isVerified: false });
    expect(completions()).toBe(2);
  });

  it('counts an answer with another root and an etag as completed, without the right to look', async () => {
    const body = '<CompleteMultipartUploadResponse><ETag>"done-1"</ETag></CompleteMultipartUploadResponse>';
    answers.complete = [{ status: 200, body }];
    answers.look = [refused(403, 'AccessDenied')];
    expect(await (await begin()).complete()).toMatchObject({ etag: 'done-1', isVerified: false });
    expect(completions()).toBe(1);
  });

  it.each([
    [400, 'EntityTooSmall', false, true],
    [400, 'InvalidRequest', false, true],
    [403, 'SomethingOfAVendor', false, true],
    [400, 'KMS.DisabledException', false, true],
    [403, 'QuotaExceeded', true, false],
    [507, 'InsufficientStorage', true, false],
    [403, 'RequestTimeTooSkewed', true, false],
    [400, 'BadDigest', true, false],
  ])('sorts %i %s: may pass %s, needs a person %s', async (status, code, retryable, isConfiguration) => {
    answers.part = Array.from({ length: 6 }, () => refused(status, code));
    expect(await failure((await begin()).complete())).toMatchObject({
      code,
      status,
      sentence: 'x',
      retryable,
      isConfiguration,
    });
    expect(asked.filter((call) => call === 'part')).toHaveLength(retryable ? 6 : 1);
  });

  it.each<[string, Answer]>([
    ...[500, 502, 504, 507, 509, 520, 522, 524, 529].map((status): [string, Answer] => [
      `${status} by a proxy, in HTML`,
      { status, body: '<html>' },
    ]),
    ['503 with a word of its own', refused(503, 'XMinioServerNotInitialized')],
  ])('sends a part again that was answered %s', async (_name, answer) => {
    answers.part = [answer];
    expect(await (await begin()).complete()).toMatchObject({ etag: 'done-1', isVerified: true });
    expect(asked.filter((call) => call === 'part')).toHaveLength(2);
  });

  it('begins no second upload after the answer of a proxy to the first', async () => {
    answers.begin = [{ status: 504, body: '<html>' }];
    expect(await failure(begin())).toMatchObject({ code: 'InternalError', retryable: true });
    expect(asked).toEqual(['begin']);
  });

  it('counts an upload as completed that no longer exists after a 504, without the right to look', async () => {
    answers.complete = [{ status: 504, body: '<html>' }, refused(404, 'NoSuchUpload')];
    answers.look = [refused(403, 'AccessDenied'), refused(403, 'AccessDenied')];
    expect(await (await begin()).complete()).toMatchObject({ size: 10, isVerified: false });
  });

  it('sends nothing again that a store will never do', async () => {
    answers.part = [refused(501, 'NotImplemented')];
    expect(await failure((await begin()).complete())).toMatchObject({ code: 'NotImplemented' });
    expect(asked).toEqual(['begin', 'part']);
  });

  it.each([
    [403, 'AccessDenied'],
    [404, 'NoSuchUpload'],
    [405, 'MethodNotAllowed'],
    [501, 'NotImplemented'],
  ])('aborts without an error where the store answers %i %s', async (status, code) => {
    answers.abort = [refused(status, code), refused(status, code)];
    await (await begin()).abort();
    await store.abortUpload('bkt', 'k', '1');
    expect(asked.filter((call) => call === 'abort')).toHaveLength(2);
  });

  it('repeats a put that met another request for its key', async () => {
    answers.put = [CONFLICT, CONFLICT];
    expect(await store.put('bkt', 'k', 'x', { onlyIfAbsent: true })).toEqual({ etag: 'put' });
    expect(asked).toEqual(['put', 'put', 'put']);
  });

  it('repeats a completion that met another request for its key', async () => {
    answers.complete = [CONFLICT];
    expect(await (await begin()).complete()).toMatchObject({ etag: 'done-1', isVerified: true });
    expect(completions()).toBe(2);
  });

  // Amazon S3 ends the upload with this answer
  it.each(['NoSuchUpload', 'PreconditionFailed'])(
    'takes no upload for completed that ended with a conflict, and then is %s, without the right to look',
    async (code) => {
      answers.complete = [CONFLICT, refused(code === 'NoSuchUpload' ? 404 : 412, code)];
      answers.look = [refused(403, 'AccessDenied')];
      expect(await failure((await begin()).complete())).toMatchObject({ code });
      expect(completions()).toBe(2);
    },
  );

  it('takes no missing upload for completed when it is to replace an object, without the right to look', async () => {
    answers.complete = [refused(412, 'PreconditionFailed'), refused(404, 'NoSuchUpload')];
    answers.look = [refused(403, 'AccessDenied')];
    const upload = await begin();
    expect(await failure(upload.complete())).toMatchObject({ code: 'PreconditionFailed' });
    expect(await failure(upload.complete({ replace: true }))).toMatchObject({ code: 'NoSuchUpload' });
  });

  it('finds its object after a lost answer and a conflict with its own completion', async () => {
    answers.complete = ['lost', CONFLICT, refused(412, 'PreconditionFailed')];
    expect(await (await begin()).complete()).toMatchObject({ etag: 'done-1', isVerified: true });
    expect(completions()).toBe(3);
  });
});
