import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import type { Target } from '../target.js';

/** An answer with its body read, as JSON where it is JSON. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
  readonly text: string;
}

export interface RawRequest {
  readonly body?: unknown;
  /** Sent as it stands. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const TIMEOUT_MS = 30_000;

/** Sends a request as a program without any SDK would. */
export async function open(
  { url, headers }: Pick<Target, 'url' | 'headers'>,
  method: string,
  path: string,
  asked: RawRequest = {},
  signal = AbortSignal.timeout(TIMEOUT_MS),
): Promise<Response> {
  const body = asked.text ?? (asked.body === undefined ? undefined : JSON.stringify(asked.body));
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  return fetch(`${url}${path}`, {
    method,
    signal,
    headers: { ...headers, ...type, ...asked.headers },
    ...(body === undefined ? {} : { body }),
  });
}

export async function send(
  target: Pick<Target, 'url' | 'headers'>,
  method: string,
  path: string,
  asked: RawRequest = {},
): Promise<RawAnswer> {
  const response = await open(target, method, path, asked);
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  const body: unknown = isJson && text.trim() !== '' ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, body, text };
}

/** Announces a body, sends its first byte and waits for the answer. */
export async function announce(
  { url, headers }: Pick<Target, 'url' | 'headers'>,
  path: string,
  bytes: number,
): Promise<Pick<RawAnswer, 'status' | 'body'>> {
  const outgoing = request(`${url}${path}`, {
    method: 'POST',
    agent: false,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: { ...headers, 'content-type': 'application/json', 'content-length': bytes },
  });
  outgoing.write('{');
  try {
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, body: JSON.parse(await textOf(answer)) as unknown };
  } finally {
    outgoing.destroy();
  }
}

/** A server-sent event as it stands on the wire. */
export interface WireEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: unknown;
}

/** Events of an answer, one by one, comments left out. */
export async function* eventsOf({ body }: Response): AsyncGenerator<WireEvent> {
  let text = '';
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const frame = text.slice(0, end);
      text = text.slice(end + 2);
      const field = (name: string): string | undefined =>
        new RegExp(`^${name}: ?(.*)$`, 'm').exec(frame)?.[1];
      const data = field('data');
      if (data !== undefined)
        yield { id: field('id'), event: field('event'), data: JSON.parse(data) as unknown };
    }
  }
}

/** Events up to the first that fits. */
export async function eventsUntil(
  response: Response,
  isLast: (event: WireEvent) => boolean,
): Promise<WireEvent[]> {
  const found: WireEvent[] = [];
  for await (const event of eventsOf(response)) {
    found.push(event);
    if (isLast(event)) return found;
  }
  throw new Error(`the stream ended after ${JSON.stringify(found)}`);
}

export async function allEvents(response: Response): Promise<WireEvent[]> {
  const found: WireEvent[] = [];
  for await (const event of eventsOf(response)) found.push(event);
  return found;
}
