import type { IncomingMessage } from 'node:http';
import { rootCertificates } from 'node:tls';
import { TerminalError, WaitingError } from '#lib/errors';
import { type AddressGuard, guardedRequest } from '#lib/outbound';
import { REASON } from '#lib/resources';
import { systemClock } from '#lib/time';
import { ReadingPace } from './reading-pace.js';
import { fullRef, RefSearch } from './ref-search.js';

/** A repository, and how its host lets the platform in. */
export interface GitRemote {
  /** https, without a user or a password in it. */
  readonly url: string;
  readonly login?: { readonly username: string; readonly token: string };
  /** PEM, beside the certificates that Node trusts. */
  readonly ca?: string;
}

/** From the first packet to the ref, DNS and TLS included. */
const TIMEOUT_MS = 20_000;
/** Some 250,000 refs. */
const MAX_BYTES = 16 * 1_048_576;
const RETRY_MS = 10_000;
/** Of all lists that this process reads. */
const PACE = new ReadingPace(systemClock);

/** The list is too long to be read to its end: reading it again soon is of no use. */
export class TooManyRefsError extends TerminalError {}

/**
 * The commit that a branch, a tag (`refs/tags/NAME`) or the default branch points to now. Asks for the list of refs and
 * reads it up to the one that is wanted; runs no git. Redirects are not followed: the token is for one host.
 * @throws TerminalError when the host refuses, or has no such repository or ref
 * @throws WaitingError when the host is unavailable
 */
export async function findCommit(
  remote: GitRemote,
  repoRef: string | undefined,
  guard: AddressGuard,
): Promise<string> {
  const search = new RefSearch(fullRef(repoRef));
  try {
    await readRefs(remote, search, guard);
  } catch (error) {
    if (error instanceof TerminalError || error instanceof WaitingError) throw error;
    throw unavailable(remote, codeOf(error), error);
  }
  if (search.commit !== undefined) return search.commit;
  if (!search.isOfGit)
    throw new TerminalError(
      REASON.repositoryRefused,
      `${remote.url} answered with something else than a list of refs; check repo_url`,
    );
  throw new TerminalError(
    REASON.refNotFound,
    repoRef === undefined
      ? `${remote.url} has no default branch; push a commit, or set repo_ref`
      : `${repoRef} does not exist in ${remote.url}; push it, or change repo_ref`,
  );
}

function readRefs(remote: GitRemote, search: RefSearch, guard: AddressGuard): Promise<void> {
  const url = new URL(`${remote.url.replace(/\/+$/, '')}/info/refs?service=git-upload-pack`);
  return new Promise((resolve, reject) => {
    const request = guardedRequest(
      url,
      {
        method: 'GET',
        headers: { 'user-agent': 'git/agentplane', ...authorization(remote) },
        timeoutMs: TIMEOUT_MS,
        ...(remote.ca === undefined ? {} : { ca: [...rootCertificates, remote.ca] }),
      },
      guard,
      reject,
    );
    request.on('response', (response) => {
      const refusal = judge(remote, response);
      if (refusal) reject(refusal);
      else readInto(search, response, (isCut) => (isCut ? reject(tooManyRefs(remote)) : resolve()));
      if (refusal) request.destroy();
    });
    request.end();
  });
}

/** @param done told whether the list has more than is read */
function readInto(search: RefSearch, response: IncomingMessage, done: (isCut: boolean) => void): void {
  let bytes = 0;
  const pauseAfter = PACE.begin();
  response.on('data', (chunk: Buffer) => {
    search.push(chunk);
    bytes += chunk.length;
    if (!search.isOver && bytes < MAX_BYTES) return void pauseFor(response, pauseAfter(chunk.length));
    done(!search.isOver && search.commit === undefined);
    response.destroy();
  });
  response.on('end', () => done(false));
  response.on('error', () => undefined);
}

function pauseFor(response: IncomingMessage, ms: number): void {
  if (ms === 0) return;
  response.pause();
  systemClock.after(ms, () => response.resume());
}

function tooManyRefs({ url }: GitRemote): TerminalError {
  return new TooManyRefsError(
    REASON.repositoryRefused,
    `the list of refs of ${url} has more than ${MAX_BYTES / 1_048_576} MB, and the ref is not among them; delete refs that are not needed. It is read again after ten minutes`,
  );
}

/** Hosts answer 404 for repositories that a caller may not see. */
function judge(remote: GitRemote, { statusCode = 0, headers }: IncomingMessage): Error | undefined {
  if (statusCode === 200) return undefined;
  if (statusCode === 429 || statusCode >= 500) return unavailable(remote, `status ${statusCode}`);
  if (statusCode >= 300 && statusCode < 400)
    return new TerminalError(
      REASON.repositoryRefused,
      `${remote.url} redirects${redirectText(headers.location)}; redirects are not followed: set repo_url to the final address, often with .git at its end`,
    );
  const what = remote.login
    ? 'check repo_url, and the token of the integration and what it may read'
    : 'check repo_url, and name an integration with a token where the repository is private';
  return new TerminalError(
    REASON.repositoryRefused,
    `${remote.url} refused the list of refs with status ${statusCode}; ${what}`,
  );
}

/** Without the query, where hosts put what is secret. */
function redirectText(location: string | undefined): string {
  const path = location?.split('?')[0]?.replace(/\/info\/refs$/, '');
  return path === undefined ? '' : ` to ${path}`;
}

function unavailable({ url }: GitRemote, what: string, cause?: unknown): WaitingError {
  const message = `host of ${url} is unavailable: ${what}; retrying`;
  return new WaitingError(REASON.repositoryUnavailable, message, RETRY_MS, { cause });
}

function authorization({ login }: GitRemote): Readonly<Record<string, string>> {
  if (!login) return {};
  const value = Buffer.from(`${login.username}:${login.token}`).toString('base64');
  return { authorization: `Basic ${value}` };
}

function codeOf(error: unknown): string {
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`;
  return code ?? message;
}
