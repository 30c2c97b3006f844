import type { IncomingMessage } from 'node:http';
import { rootCertificates } from 'node:tls';
import { TerminalError, WaitingError } from '#lib/errors';
import { type AddressGuard, guardedRequest } from '#lib/outbound';
import { REASON } from '#lib/resources';

/** An object's id, of SHA-1 or SHA-256. */
const ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
const [SHA_1, SHA_256] = [40, 64];
const HEADER_BYTES = 4;
/** Maximum length of a line, by the protocol. */
const MAX_LINE = 65_520;
const SERVICE = '# service=git-upload-pack';
const [SPACE, END] = [0x20, 0x0a];
/** Values of the letters of hexadecimal numbers, by byte; of all others, more than any length. */
const DIGITS = Array.from({ length: 256 }, (_, byte) => {
  const value = '0123456789abcdef'.indexOf(String.fromCharCode(byte));
  return value < 0 ? 0x1_0000 : value;
});
const PEELED = Buffer.from('^{}');

/** The ref that is wanted, as git names it: `HEAD`, `refs/heads/NAME` or `refs/tags/NAME`. */
function fullRef(repoRef: string | undefined): string {
  if (repoRef === undefined) return 'HEAD';
  return repoRef.startsWith('refs/') ? repoRef : `refs/heads/${repoRef}`;
}

/**
 * Looks for one ref in the list of a git host (`info/refs?service=git-upload-pack`, protocol version 0):
 * lines with their length before them. An annotated tag is followed by a line `NAME^{}` with the commit that
 * it points to. The host is untrusted, and the list is read beside the work of the controller: each byte is
 * copied once at most, in however small pieces it comes, and only the wanted line becomes a text.
 */
export class RefSearch {
  readonly #name: Buffer;
  /** Received bytes that are no whole line yet. */
  #waiting: Buffer[] = [];
  #bytes = 0;
  /** Bytes with which the next line, or its length, is complete. */
  #needed = HEADER_BYTES;
  #parts = 0;
  #found: string | undefined;
  #isOver = false;
  #isOfGit = false;

  constructor(private readonly wanted: string) {
    this.#name = Buffer.from(wanted);
  }

  /** The commit, as far as what came shows it. */
  get commit(): string | undefined {
    return this.#found;
  }

  /** True when more bytes change nothing. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** True when the received bytes look like an answer of git. */
  get isOfGit(): boolean {
    return this.#isOfGit;
  }

  push(chunk: Buffer): void {
    this.#waiting.push(chunk);
    this.#bytes += chunk.length;
    if (this.#isOver || this.#bytes < this.#needed) return;
    const data = this.#waiting.length === 1 ? chunk : Buffer.concat(this.#waiting);
    let at = 0;
    while (!this.#isOver) {
      this.#needed = HEADER_BYTES;
      if (data.length - at < HEADER_BYTES) break;
      const length = lengthAt(data, at);
      if (length > MAX_LINE) return this.#end();
      // the first part has one line, which names the service; the second has the refs
      if (length === 0 && ++this.#parts === 2) return this.#end();
      this.#needed = Math.max(HEADER_BYTES, length);
      if (data.length - at < this.#needed) break;
      if (length > 0) this.#line(data.subarray(at + HEADER_BYTES, at + this.#needed));
      at += this.#needed;
    }
    const rest = data.subarray(at);
    this.#waiting = [rest];
    this.#bytes = rest.length;
  }

  #line(line: Buffer): void {
    const idLength = line[SHA_1] === SPACE ? SHA_1 : SHA_256;
    if (line[idLength] !== SPACE) return this.#other(line);
    const nameEnd = idLength + 1 + this.#name.length;
    const isNamed = line.subarray(idLength + 1, nameEnd).equals(this.#name);
    const isPeeled = isNamed && line.subarray(nameEnd, nameEnd + PEELED.length).equals(PEELED);
    const isWanted = isNamed && isEndOfName(line[isPeeled ? nameEnd + PEELED.length : nameEnd]);
    const id = isWanted ? line.toString('latin1', 0, idLength) : '';
    if (ID.test(id)) this.#found = id;
    else if (this.#found !== undefined) return this.#end();
    if (this.#found !== undefined && !this.wanted.startsWith('refs/tags/')) this.#end();
  }

  /**
   * The name of the service, once. Any other line that names no ref comes behind the last one, or the text is
   * no list of refs.
   */
  #other(line: Buffer): void {
    const isService = line.toString('latin1', 0, SERVICE.length) === SERVICE;
    if (!isService || this.#isOfGit) this.#end();
    this.#isOfGit = isService || (this.#isOfGit && line.length >= SHA_1);
  }

  #end(): void {
    this.#isOver = true;
    this.#waiting = [];
  }
}

/** The capabilities of the host follow the first name. */
function isEndOfName(byte: number | undefined): boolean {
  return byte === undefined || byte === 0 || byte === END;
}

/** Length of a line, its length field included. */
function lengthAt(data: Buffer, at: number): number {
  let length = 0;
  for (let end = at + HEADER_BYTES; at < end; at++) length = length * 16 + (DIGITS[data[at] ?? 0] ?? 0);
  return length;
}

/** A repository, and how its host lets the platform in. */
export interface GitRemote {
  /** https, without a user or a password in it. */
  readonly url: string;
  readonly login?: { readonly username: string; readonly token: string };
  /** PEM, beside the certificates that Node trusts. */
  readonly ca?: string;
}

/** Time limit from the first packet to the ref, DNS and TLS included. */
const TIMEOUT_MS = 20_000;
/** Some 250,000 refs. Hosts send thousands of bytes at a time, so that a list of as many has some thousands of pieces. */
const MAX = { bytes: 16 * 1_048_576, pieces: 20_000 };
/** Amount of a list that is read without a result before the look-up counts as costly. */
const COSTLY = { bytes: 1_048_576, pieces: 10_000 };
const RETRY_MS = 10_000;
const COSTLY_RETRY_MS = 600_000;

/** The list is too long to be read to its end: reading it again soon is of no use. */
export class TooManyRefsError extends TerminalError {}

/** The host failed after much of its list was read: reading that again soon costs others too much. */
export class CostlyListError extends WaitingError {}

/** Amount of a list that was read. */
interface Cost {
  bytes: number;
  pieces: number;
}

/**
 * The commit that a branch, a tag (`refs/tags/NAME`) or the default branch points to now. Asks for the list of refs and
 * reads it up to the one that is wanted; runs no git. Redirects are not followed: the token is for one host.
 * @throws TerminalError when the host refuses, or has no such repository or ref
 * @throws WaitingError when the host is unavailable; CostlyListError when much of its list was read before
 */
export async function findCommit(
  remote: GitRemote,
  repoRef: string | undefined,
  guard: AddressGuard,
): Promise<string> {
  const search = new RefSearch(fullRef(repoRef));
  const cost: Cost = { bytes: 0, pieces: 0 };
  try {
    await readRefs(remote, { search, cost }, guard);
  } catch (error) {
    if (error instanceof TerminalError || error instanceof WaitingError) throw error;
    throw isAbove(cost, COSTLY) ? costly(remote, error) : unavailable(remote, codeOf(error), error);
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

interface List {
  readonly search: RefSearch;
  readonly cost: Cost;
}

function readRefs(remote: GitRemote, list: List, guard: AddressGuard): Promise<void> {
  const url = new URL(`${remote.url.replace(/(?<!\/)\/+$/, '')}/info/refs?service=git-upload-pack`);
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
      else readInto(list, response, (isCut) => (isCut ? reject(tooManyRefs(remote)) : resolve()));
      if (refusal) request.destroy();
    });
    request.end();
  });
}

/** @param done called with true when the list has more than is read */
function readInto({ search, cost }: List, response: IncomingMessage, done: (isCut: boolean) => void): void {
  response.on('data', (chunk: Buffer) => {
    search.push(chunk);
    cost.bytes += chunk.length;
    cost.pieces++;
    if (!search.isOver && !isAbove(cost, MAX)) return;
    done(!search.isOver && search.commit === undefined);
    response.destroy();
  });
  response.on('end', () => done(false));
  response.on('error', () => undefined);
}

function isAbove({ bytes, pieces }: Cost, bound: Readonly<Cost>): boolean {
  return bytes >= bound.bytes || pieces >= bound.pieces;
}

function tooManyRefs({ url }: GitRemote): TerminalError {
  return new TooManyRefsError(
    REASON.repositoryRefused,
    `the list of refs of ${url} has more than ${MAX.bytes / 1_048_576} MB or ${MAX.pieces} pieces, and the ref is not among them; delete refs that are not needed, or let the host send larger pieces. It is read again after ten minutes`,
  );
}

function costly({ url }: GitRemote, cause: unknown): WaitingError {
  const message = `host of ${url} failed in the middle of its list of refs: ${codeOf(cause)}; it is read again after ten minutes`;
  return new CostlyListError(REASON.repositoryUnavailable, message, COSTLY_RETRY_MS, { cause });
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

/** Target of a redirect without the query, where hosts put secrets. */
function redirectText(location: string | undefined): string {
  const path = location?.split('?')[0]?.replace(/\/info\/refs$/, '');
  return path === undefined ? '' : ` to ${path}`;
}

/** Words of Node for certificates of an authority that it does not know. */
const UNTRUSTED =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)\w*)$/;

function unavailable({ url }: GitRemote, what: string, cause?: unknown): Error {
  if (UNTRUSTED.test(what))
    return new TerminalError(
      REASON.repositoryRefused,
      `certificate of the host of ${url} is not trusted (${what}); name an integration whose ca_certificate is that of its authority`,
    );
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
