import { errorText } from '#lib/errors';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { RestError } from './rest-error.js';

const TIMEOUT_MS = 30_000;
/** Of one answer, or one line of an answer in lines. */
const MAX_ANSWER_BYTES = 67_108_864;

/** Address and key of a REST interface. */
export interface RestAccess {
  readonly url: string;
  readonly key: string;
  /** Sent with an operator key, which belongs to no tenant. */
  readonly tenantId?: string;
}

export type RestMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The REST interface as its clients use it: one request, one JSON answer. */
export class RestClient {
  readonly #access: RestAccess;

  constructor(access: RestAccess) {
    this.#access = access;
  }

  /**
   * The answer's JSON; its shape is that of the route in the OpenAPI document.
   * @throws RestError when the request was refused, CommandError `unreachable` when there was no answer
   */
  async request<T>(method: RestMethod, path: string, body?: unknown): Promise<T> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(this.#access.url + path, {
        method,
        headers: {
          ...this.#identity(),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      text = await textOf(response);
    } catch (error) {
      throw this.#unreachable(error);
    }
    const answer = parseJson(text);
    if (response.ok) return answer as T;
    throw this.#refusal(response, answer, `${method} ${path}`);
  }

  /**
   * The lines of an answer in JSON lines as they come, as many at once as have.
   * @throws RestError when the request was refused, CommandError `unreachable` when there was no answer, what the
   * connection says when it breaks or when nothing comes for `silentMs`
   */
  async *lines<T>(
    path: string,
    { silentMs }: { readonly silentMs: number },
  ): AsyncGenerator<readonly T[], void, void> {
    const stopping = new AbortController();
    const give = (): void => stopping.abort(new Error(`nothing came for ${silentMs / 1_000} s`));
    let cancel = systemClock.after(silentMs, give);
    try {
      const response = await this.#open(path, stopping.signal);
      const decoder = new TextDecoder();
      let begun = new UnfinishedLine();
      for await (const chunk of response.body ?? []) {
        cancel();
        cancel = systemClock.after(silentMs, give);
        const text = decoder.decode(chunk, { stream: true });
        const end = text.lastIndexOf('\n');
        const whole = end === -1 ? '' : begun.text + text.slice(0, end);
        if (end !== -1) begun = new UnfinishedLine();
        begun.add(text.slice(end + 1));
        const lines = whole.split('\n').filter((line) => line !== '');
        if (lines.length > 0) yield lines.map((line) => JSON.parse(line) as T);
      }
    } finally {
      cancel();
      stopping.abort();
    }
  }

  async #open(path: string, signal: AbortSignal): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(this.#access.url + path, {
        headers: { ...this.#identity(), accept: 'application/x-ndjson' },
        redirect: 'manual',
        signal,
      });
    } catch (error) {
      throw this.#unreachable(error);
    }
    if (response.ok) return response;
    throw this.#refusal(response, parseJson(await textOf(response)), `GET ${path}`);
  }

  #identity(): Readonly<Record<string, string>> {
    const { key, tenantId } = this.#access;
    return { 'x-api-key': key, ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }) };
  }

  #unreachable(error: unknown): CommandError {
    return new CommandError(
      'unreachable',
      `the REST interface at ${this.#access.url} did not answer (${errorText(error)}); "agentplane status" shows what runs`,
      { cause: error },
    );
  }

  /** A redirect is none to follow: the key would go to wherever it leads. */
  #refusal({ status, headers }: Response, answer: unknown, request: string): RestError | CommandError {
    const location = headers.get('location');
    if (status >= 300 && status < 400)
      return new CommandError(
        'unreachable',
        `the REST interface at ${this.#access.url} redirects to ${location ?? 'nowhere'} (HTTP ${status}); give the address that it moved to`,
      );
    return new RestError(status, `${refusalOf(status, answer)} (${request} at ${this.#access.url})`);
  }
}

/** The pieces of a line whose end has not come; joined once, since each piece would copy all before it. */
class UnfinishedLine {
  readonly #pieces: string[] = [];
  #length = 0;

  add(piece: string): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length > MAX_ANSWER_BYTES) throw new Error(TOO_LONG);
  }

  get text(): string {
    return this.#pieces.join('');
  }
}

const TOO_LONG = `the answer is longer than ${MAX_ANSWER_BYTES} bytes`;

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new Error(TOO_LONG);
  }
  return Buffer.concat(chunks).toString();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `{"detail": text}`, or one entry for each wrong field. */
function refusalOf(status: number, answer: unknown): string {
  const detail =
    typeof answer === 'object' && answer !== null && 'detail' in answer ? answer.detail : undefined;
  if (typeof detail === 'string') return detail;
  if (!Array.isArray(detail)) return `the answer was HTTP ${status}`;
  return detail
    .map((problem: { loc?: readonly unknown[]; msg?: string }) =>
      `${(problem.loc ?? []).slice(1).join('.')}: ${problem.msg ?? ''}`.replace(/^: /, ''),
    )
    .join('; ');
}
