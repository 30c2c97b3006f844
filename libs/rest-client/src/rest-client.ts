import { systemClock } from '#lib/time';
import { type Fetch, fetchOf, type FetchRequest } from './trusting-fetch.js';

/** Maximum size of one answer, or of one line of an answer in lines. */
const MAX_BYTES = 67_108_864;

/** A message. @param asked `GET /runs at http://…` */
function tooLong(asked: string): string {
  return `the answer to ${asked} is longer than ${MAX_BYTES} bytes`;
}

/** An answer's bytes; undefined when it is longer than 64 MiB. @throws the error of a broken connection */
async function bytesOf(response: Response): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return undefined;
  }
  return Buffer.concat(chunks);
}

/** The pieces of a line whose end has not come; joined once, since each piece would copy all before it. */
class UnfinishedLine {
  readonly #pieces: string[] = [];
  #length = 0;

  /** @returns false when the line is longer than 64 MiB */
  add(piece: string): boolean {
    this.#pieces.push(piece);
    this.#length += piece.length;
    return this.#length <= MAX_BYTES;
  }

  get text(): string {
    return this.#pieces.join('');
  }
}

/** The REST interface answered, and not with what was asked for; asking again as it is gives the same below 500. */
export class RestError extends Error {
  constructor(
    /** HTTP status. */
    readonly status: number,
    message: string,
    /** `detail` of the answer as it came, and the pause that the server asks for. */
    readonly answer: { readonly detail?: unknown; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message);
    this.name = 'RestError';
  }
}

/** No answer; the cause holds the error of the connection. */
export class RestUnreachableError extends Error {
  constructor(url: string, cause: unknown) {
    const trust = isOfTrust(cause)
      ? ': its certificate is not trusted; compare its fingerprint with that of "agentplane status" there and give its file as --ca-file'
      : '';
    super(`the REST interface at ${url} did not answer${trust}`, { cause });
    this.name = 'RestUnreachableError';
  }
}

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** True when an error, or one that led to it, is about the issuer of a certificate. */
function isOfTrust(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && UNTRUSTED.has(String(error.code))) || isOfTrust(error.cause);
}

/** The address redirects. No redirect is followed: the key would go to wherever it leads. */
export class RestRedirectError extends Error {
  constructor(url: string, { status, headers }: Response) {
    const location = headers.get('location') ?? 'nowhere';
    super(
      `the REST interface at ${url} redirects to ${location} (HTTP ${status}); give the address that it moved to`,
    );
    this.name = 'RestRedirectError';
  }
}

const TIMEOUT_MS = 30_000;
/**
 * Maximum length of a refusal's text, in letters: it is printed, and laid out by the dashboard for each
 * frame.
 */
const MAX_SHOWN = 2_000;

/** Address and key of a REST interface. */
export interface RestAccess {
  readonly url: string;
  /** Sent as `X-Api-Key`; absent for a server that wants none. */
  readonly key?: string;
  /** Sent as `Authorization`, for servers of other products. */
  readonly authorization?: string;
  /** Sent with an operator key, which belongs to no tenant. */
  readonly tenantId?: string;
  /** File of certificates that the client believes beside the well-known ones. */
  readonly caFile?: string;
}

/** Part of the client that one request needs. */
export type RestRequests = Pick<RestClient, 'request'>;

type RestMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface RestOptions {
  /** Until a request that has no whole answer yet is given up; default 30 s. */
  readonly timeoutMs?: number;
  /** Reader of answers; `JSON.parse` by default. */
  readonly parse?: (text: string) => unknown;
}

/** The REST interface as its clients use it: one request, one JSON answer. */
export class RestClient {
  readonly #access: RestAccess;
  readonly #send: Fetch;
  readonly #options: Required<RestOptions>;

  /** @throws Error for a file of certificates that cannot be used */
  constructor(access: RestAccess, options: RestOptions = {}) {
    this.#access = access;
    this.#send = fetchOf(access);
    this.#options = { timeoutMs: TIMEOUT_MS, parse: JSON.parse, ...options };
  }

  /**
   * The answer's JSON, undefined for an empty one; its shape is that of the route in the OpenAPI document.
   * @param headers with a content type the body is a text or bytes that are sent as they are, else it is sent as JSON
   * @throws RestError when the request was refused or the answer is not from REST, RestRedirectError,
   * RestUnreachableError
   */
  async request<T>(
    method: RestMethod,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<T> {
    const asked = `${method} ${path} at ${this.#access.url}`;
    const isJson = headers['content-type'] === undefined;
    const type: Record<string, string> =
      isJson && body !== undefined ? { 'content-type': 'application/json' } : {};
    const response = await this.#fetch(path, {
      method,
      headers: { ...type, ...headers },
      ...(body === undefined
        ? {}
        : { body: isJson ? JSON.stringify(body) : (body as FetchRequest['body'] & {}) }),
      signal: AbortSignal.timeout(this.#options.timeoutMs),
    });
    const text = (await this.#bytesOf(response, asked)).toString();
    if (!response.ok) throw this.#refusal(response, text, asked);
    const answer = parsed(text, this.#options.parse);
    if (answer === undefined && text !== '')
      throw new RestError(
        response.status,
        `${asked} answered with something other than JSON; give the address of a REST interface`,
      );
    return answer as T;
  }

  /** An answer as it is. @throws the errors of `request` */
  async bytes(path: string): Promise<{ readonly type: string; readonly bytes: Buffer }> {
    const asked = `GET ${path.split('?', 1)[0]} at ${this.#access.url}`;
    const signal = AbortSignal.timeout(this.#options.timeoutMs);
    const response = await this.#fetch(path, { headers: {}, signal });
    const bytes = await this.#bytesOf(response, asked);
    if (!response.ok) throw this.#refusal(response, bytes.toString(), asked);
    return { type: response.headers.get('content-type') ?? 'application/octet-stream', bytes };
  }

  /**
   * The lines of an answer in JSON lines as they come, as many at once as have.
   * @throws the errors of `request`; that of a connection that breaks or is silent for `silentMs`
   */
  async *lines<T>(
    path: string,
    { silentMs }: { readonly silentMs: number },
  ): AsyncGenerator<readonly T[], void, void> {
    const asked = `GET ${path} at ${this.#access.url}`;
    const stopping = new AbortController();
    const give = (): void => stopping.abort(new Error(`nothing came for ${silentMs / 1_000} s`));
    let cancel = systemClock.after(silentMs, give);
    try {
      const response = await this.#fetch(path, {
        headers: { accept: 'application/x-ndjson' },
        signal: stopping.signal,
      });
      if (!response.ok)
        throw this.#refusal(response, (await this.#bytesOf(response, asked)).toString(), asked);
      const decoder = new TextDecoder();
      let begun = new UnfinishedLine();
      for await (const chunk of response.body ?? []) {
        cancel();
        cancel = systemClock.after(silentMs, give);
        const text = decoder.decode(chunk, { stream: true });
        const end = text.lastIndexOf('\n');
        const whole = end === -1 ? '' : begun.text + text.slice(0, end);
        if (end !== -1) begun = new UnfinishedLine();
        if (!begun.add(text.slice(end + 1))) throw new RestError(response.status, tooLong(asked));
        const lines = whole.split('\n').filter((line) => line !== '');
        if (lines.length > 0) yield lines.map((line) => JSON.parse(line) as T);
      }
    } finally {
      cancel();
      stopping.abort();
    }
  }

  async #fetch(path: string, { headers, ...request }: FetchRequest): Promise<Response> {
    const { url, key, authorization, tenantId } = this.#access;
    const credentials: Record<string, string> = {};
    if (key !== undefined) credentials['x-api-key'] = key;
    if (authorization !== undefined) credentials['authorization'] = authorization;
    if (tenantId !== undefined) credentials['x-tenant-id'] = tenantId;
    try {
      return await this.#send(url + path, { ...request, headers: { ...credentials, ...headers } });
    } catch (error) {
      throw new RestUnreachableError(url, error);
    }
  }

  async #bytesOf(response: Response, asked: string): Promise<Buffer> {
    let bytes: Buffer | undefined;
    try {
      bytes = await bytesOf(response);
    } catch (error) {
      throw new RestUnreachableError(this.#access.url, error);
    }
    if (bytes === undefined) throw new RestError(response.status, tooLong(asked));
    return bytes;
  }

  #refusal(response: Response, text: string, asked: string): RestError | RestRedirectError {
    const { status } = response;
    if (status >= 300 && status < 400) return new RestRedirectError(this.#access.url, response);
    const answer = parsed(text, JSON.parse);
    const after = response.headers.get('retry-after');
    return new RestError(status, `${detailOf(status, answer)} (${asked})`, {
      detail: fieldOf(answer, 'detail'),
      retryAfterMs: after === null ? undefined : pauseOf(after),
    });
  }
}

/** `Retry-After` in seconds, or as a date; undefined for anything else. */
function pauseOf(text: string): number | undefined {
  if (/^\d{1,6}(\.\d{1,6})?$/.test(text)) return Number(text) * 1_000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - systemClock.now().getTime());
}

function parsed(text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** `{"detail": text}`, or one entry for each wrong field; what has another shape says less than the status. */
function detailOf(status: number, answer: unknown): string {
  const detail = fieldOf(answer, 'detail');
  const text = Array.isArray(detail) ? detail.map(problemOf).filter(Boolean).join('; ') : detail;
  if (typeof text !== 'string' || text === '') return `the answer was HTTP ${status}`;
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** `{"loc": ["body", "name"], "msg": "is missing"}` as text; empty for what says nothing. */
function problemOf(problem: unknown): string {
  const [loc, msg] = [fieldOf(problem, 'loc'), fieldOf(problem, 'msg')];
  const place = Array.isArray(loc) ? loc.slice(1).filter(isName).join('.') : '';
  const text = typeof msg === 'string' ? msg : '';
  return place === '' ? text : `${place}: ${text}`;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function isName(part: unknown): boolean {
  return typeof part === 'string' || typeof part === 'number';
}
