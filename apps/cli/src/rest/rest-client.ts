import { errorText } from '#lib/errors';
import { CommandError } from '../command-error.js';
import { RestError } from './rest-error.js';

const TIMEOUT_MS = 30_000;

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
    const { url, key, tenantId } = this.#access;
    let response: Response;
    let text: string;
    try {
      response = await fetch(url + path, {
        method,
        headers: {
          'x-api-key': key,
          ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      text = await response.text();
    } catch (error) {
      throw new CommandError(
        'unreachable',
        `the REST interface at ${url} did not answer (${errorText(error)}); "agentplane status" shows what runs`,
        { cause: error },
      );
    }
    const answer = parseJson(text);
    if (response.ok) return answer as T;
    throw new RestError(
      response.status,
      `${refusalOf(response.status, answer)} (${method} ${path} at ${url})`,
    );
  }
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
