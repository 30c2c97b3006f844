import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TerminalError, WaitingError } from '#lib/errors';
import { AddressGuard } from '#lib/outbound';
import { type GitRepository, type GitServer, gitServer } from '#lib/testing';
import { CostlyListError, findCommit } from './find-commit.js';

const guard = new AddressGuard({ allowPrivate: true, refuse: (why) => new Error(why) });

describe('findCommit', () => {
  let server: GitServer;
  let open: GitRepository;
  let closed: GitRepository;
  const commits = { first: '', main: '', branch: '' };

  beforeAll(async () => {
    server = await gitServer();
    open = await server.repository('open');
    commits.first = await open.commit({ 'a.txt': '1' });
    await open.git('tag', '-a', 'v1', '-m', 'first');
    await open.git('tag', 'v1-light');
    await open.git('push', '-q', 'origin', '--tags');
    commits.branch = await open.commit({ 'a.txt': '2' }, 'feature/two');
    commits.main = await open.commit({ 'a.txt': '3' });
    closed = await server.repository('closed', 'secret-token');
    await closed.commit({ 'a.txt': '1' });
  });
  afterAll(() => server.close());
  afterEach(() => server.fail(undefined));

  const ask = (ref: string | undefined, more: object = {}): Promise<string> =>
    findCommit({ url: open.url, ca: server.ca, ...more }, ref, guard);

  it.each([
    ['finds a branch', 'feature/two', 'branch'],
    ['finds the default branch', undefined, 'main'],
    ['finds the commit of an annotated tag', 'refs/tags/v1', 'first'],
    ['finds the commit of a plain tag', 'refs/tags/v1-light', 'first'],
  ] as const)('%s', async (_, ref, which) => {
    expect(await ask(ref)).toBe(commits[which]);
  });

  it('logs in with the token', async () => {
    const login = { username: 'x', token: 'secret-token' };
    expect(await ask('main', { url: closed.url, login })).toMatch(/^[0-9a-f]{40}$/);
  });

  it.each<[string, string | undefined, () => object, RegExp]>([
    ['a branch that does not exist', 'none', () => ({}), /none does not exist in .*push it/],
    ['a tag that does not exist', 'refs/tags/v9', () => ({}), /refs\/tags\/v9 does not exist/],
    ['a repository without its token', 'main', () => ({ url: closed.url }), /status 401; .*integration/],
    [
      'a wrong token',
      'main',
      () => ({ url: closed.url, login: { username: 'x', token: 'wrong' } }),
      /status 401; .*token of the integration/,
    ],
    [
      'a repository that does not exist',
      'main',
      () => ({ url: `https://${server.host}/none.git` }),
      /status 404/,
    ],
    ['a page that is no repository', 'main', () => ({ url: `https://${server.host}` }), /refused|else than/],
  ])('refuses %s', async (_, ref, more, message) => {
    const failure = await ask(ref, more()).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TerminalError);
    expect((failure as Error).message).toMatch(message);
    expect((failure as Error).message).not.toContain('wrong');
  });

  it.each([503, 429])('waits for a host that answers %d', async (status) => {
    server.fail(status);
    await expect(ask('main')).rejects.toBeInstanceOf(WaitingError);
  });
  it('waits for a host that is not reached', async () => {
    await expect(ask('main', { url: 'https://127.0.0.1:1/x.git' })).rejects.toThrow(/ECONNREFUSED; retrying/);
  });
  it('does not follow a redirect', async () => {
    server.fail(302);
    await expect(ask('main')).rejects.toThrow(/redirects are not followed/);
  });
  it('dials no private address where that is not allowed', async () => {
    const strict = new AddressGuard({
      allowPrivate: false,
      refuse: (why) => new TerminalError('Refused', `address refused: ${why}`),
    });
    await expect(findCommit({ url: open.url }, 'main', strict)).rejects.toThrow('address refused: private');
  });

  const block = Buffer.from(`0043${'a'.repeat(40)} refs/pull/000001/head\n`.repeat(10_000));
  const lines = (bytes: number): readonly Buffer[] =>
    Array<Buffer>(Math.ceil(bytes / block.length)).fill(block);
  it.each<[string, readonly (string | Buffer)[], RegExp]>([
    [
      'one that is longer than 16 MB',
      lines(18 * 1_048_576),
      /more than 16 MB or 20000 pieces, and the ref is not among them/,
    ],
    [
      'one of more than 20,000 pieces',
      ['fff0', ...'a'.repeat(21_000)],
      /more than 16 MB or 20000 pieces, and the ref is not among them/,
    ],
    ['one of empty lines', ['0004'], /something else than a list of refs/],
  ])('refuses a list of refs: %s', async (_, pieces, message) => {
    await expect(askHost(pieces)).rejects.toThrow(message);
  });

  it.each<[string, readonly (string | Buffer)[]]>([
    ['1 MB', lines(2 * 1_048_576)],
    ['10,000 pieces', ['fff0', ...'a'.repeat(11_000)]],
  ])('reads a list that breaks off after %s again in ten minutes', async (_, pieces) => {
    const failure = await askHost(pieces, true).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CostlyListError);
    expect(failure).toMatchObject({ delayMs: 600_000 });
  });

  /** Looks for `main` at a host that sends these pieces, and may break its answer behind them. */
  const askHost = async (pieces: readonly (string | Buffer)[], breaks = false): Promise<string> => {
    const host = createServer((_request, response) => {
      response.write('001e# service=git-upload-pack\n0000');
      let at = 0;
      const send = (): void => {
        while (at < pieces.length)
          if (!response.write(pieces[at++] ?? '')) return void response.once('drain', send);
        if (breaks) response.socket?.destroySoon();
        else response.end('0000');
      };
      send();
    });
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
    const { port } = host.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/a.git`;
    try {
      return await findCommit({ url }, 'main', guard);
    } finally {
      host.closeAllConnections();
      await new Promise((resolve) => host.close(resolve));
    }
  };
});
