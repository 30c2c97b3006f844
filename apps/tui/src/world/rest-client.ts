import { errorText } from '#lib/errors';

const TIMEOUT_MS = 15_000;
const MOST_BYTES = 33_554_432;

/** Address and key of a REST interface. */
export interface RestAccess {
  readonly url: string;
  readonly key: string;
}

export type RestMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** One request, one JSON answer. @throws Error that says what was refused, or that nothing answered */
export type Rest = <T>(method: RestMethod, path: string, body?: unknown) => Promise<T>;

export function restOf({ url, key }: RestAccess): Rest {
  return async <T>(method: RestMethod, path: string, body?: unknown): Promise<T> => {
    const response = await answerOf(url + path, {
      method,
      headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // the key would go to wherever it leads
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await textOf(response);
    if (response.ok) return parsed(text) as T;
    throw new Error(`${method} ${path} at ${url} failed: ${detailOf(parsed(text), response.status)}`);
  };
}

async function answerOf(url: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(url, request);
  } catch (cause) {
    throw new Error(`the REST interface at ${new URL(url).origin} did not answer: ${errorText(cause)}`, {
      cause,
    });
  }
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error(`the answer is longer than ${MOST_BYTES} bytes`);
  }
  return Buffer.concat(chunks).toString();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function detailOf(answer: unknown, status: number): string {
  const detail =
    typeof answer === 'object' && answer !== null && 'detail' in answer ? answer.detail : undefined;
  if (detail === undefined) return `HTTP ${status}`;
  return typeof detail === 'string' ? detail : JSON.stringify(detail);
}
