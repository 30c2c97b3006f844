import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { selfSigned } from './self-signed.js';

const run = promisify(execFile);
const AUTHOR = ['-c', 'user.name=tester', '-c', 'user.email=tester@example.org'];

/** Content of a commit: text of files by their paths; null removes one. */
export type GitFiles = Readonly<Record<string, string | null>>;

export interface GitRepository {
  /** `https://ADDRESS:PORT/NAME.git` */
  readonly url: string;
  /** Commits onto a branch and answers the commit's id. */
  commit(files: GitFiles, branch?: string): Promise<string>;
  /** Runs git in a working copy of the repository, for what `commit` does not do; `push` it. */
  git(...args: readonly string[]): Promise<string>;
  /** The folder of the working copy. */
  readonly folder: string;
}

/** A git host on this machine: `git http-backend` behind TLS. */
export interface GitServer {
  /** The certificate that clients must trust. */
  readonly ca: string;
  readonly host: string;
  /** Requests so far, as `METHOD PATH?QUERY`. */
  readonly requests: readonly string[];
  /** A repository with the branch `main`; with a token it is asked for by basic authentication. */
  repository(name: string, token?: string): Promise<GitRepository>;
  /** Answers all that comes with this status; undefined: as usual. */
  fail(status: number | undefined): void;
  close(): Promise<void>;
}

/**
 * Starts a git host with a certificate of its own.
 * @param address that it listens at
 */
export async function gitServer(address = '127.0.0.1'): Promise<GitServer> {
  const root = await mkdtemp(join(tmpdir(), 'git-server-'));
  const identity = await selfSigned(address);
  const tokens = new Map<string, string>();
  const requests: string[] = [];
  let failure: number | undefined;
  const server = createServer({ key: identity.key, cert: identity.certificate }, (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const path = request.url ?? '/';
    const token = tokens.get(/^\/([^/]+)\.git\//.exec(path)?.[1] ?? '');
    if (failure !== undefined) return response.writeHead(failure).end('as asked for');
    if (token !== undefined && !isGiven(request, token))
      return response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    return serve(root, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const host = `${address}:${(server.address() as AddressInfo).port}`;
  return {
    ca: identity.certificate,
    host,
    requests,
    async repository(name, token) {
      if (token !== undefined) tokens.set(name, token);
      return await makeRepository(root, name, `https://${host}/${name}.git`);
    },
    fail: (status) => (failure = status),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function makeRepository(root: string, name: string, url: string): Promise<GitRepository> {
  const bare = join(root, `${name}.git`);
  const folder = join(root, 'copies', name);
  await run('git', ['init', '-q', '--bare', '-b', 'main', bare]);
  await run('git', ['init', '-q', '-b', 'main', folder]);
  const git = async (...args: readonly string[]): Promise<string> =>
    (await run('git', [...AUTHOR, ...args], { cwd: folder })).stdout.trim();
  await git('remote', 'add', 'origin', bare);
  return {
    url,
    folder,
    git,
    async commit(files, branch = 'main') {
      await git('checkout', '-q', '-B', branch);
      for (const [path, text] of Object.entries(files)) await put(join(folder, path), text);
      await git('add', '-A');
      await git('commit', '-q', '--allow-empty', '-m', 'change');
      await git('push', '-q', '--force', 'origin', branch);
      return await git('rev-parse', 'HEAD');
    },
  };
}

async function put(path: string, text: string | null): Promise<void> {
  if (text === null) return await rm(path, { force: true });
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

function isGiven({ headers }: IncomingMessage, token: string): boolean {
  const [, encoded = ''] = (headers.authorization ?? '').split(' ');
  return Buffer.from(encoded, 'base64').toString().endsWith(`:${token}`);
}

/** One request through `git http-backend`, as a web server runs it. */
function serve(root: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'https://git.test');
  const { headers } = request;
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
      ...(headers['content-length'] === undefined ? {} : { CONTENT_LENGTH: headers['content-length'] }),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(child.stdin);
  child.stdin.on('error', () => undefined);
  let head: Buffer | undefined = Buffer.alloc(0);
  child.stdout.on('data', (chunk: Buffer) => {
    if (head === undefined) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return;
    begin(response, head.subarray(0, end).toString());
    response.write(head.subarray(end + 4));
    head = undefined;
  });
  child.stdout.on('end', () => response.end());
}

function begin(response: ServerResponse, head: string): void {
  for (const line of head.split('\r\n')) {
    const [name = '', value = ''] = line.split(/: ?(.*)/);
    if (name.toLowerCase() === 'status') response.statusCode = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
}
