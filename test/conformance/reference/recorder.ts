import type { Observation, SeenEvent } from './observation.js';

const TIMEOUT_MS = 60_000;

/** Headers that clients read. */
const READ_HEADERS = [
  'content-type',
  'content-location',
  'location',
  'x-pagination-total',
  'x-pagination-next',
];

/** An answer as a scenario goes on with it. */
export interface Answer {
  readonly status: number;
  /** JSON, or what the text was. */
  readonly body: unknown;
  readonly events: readonly SeenEvent[];
}

/** Sends requests to one server as a program without any SDK would, and keeps what is answered. */
export class Recorder {
  readonly observations: Observation[] = [];

  constructor(private readonly url: string) {}

  /** A step that is compared. @param body sent as JSON, or as it stands when it is a text */
  async step(step: string, method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await this.#send(method, path, body);
    const text = await response.text();
    const headers = Object.fromEntries(
      READ_HEADERS.flatMap((name) => {
        const value = response.headers.get(name);
        // how its bytes are read is the standard's to say for JSON
        return value === null
          ? []
          : [[name, value.replace('application/json; charset=utf-8', 'application/json')]];
      }),
    );
    const { status } = response;
    if (headers['content-type']?.startsWith('text/event-stream')) {
      const events = eventsOf(text);
      this.observations.push({ step, status, headers, events });
      return { status, body: undefined, events };
    }
    const read = bodyOf(text);
    this.observations.push({ step, status, headers, body: read });
    return { status, body: read, events: [] };
  }

  /** A step that only prepares: what it answers is not compared. */
  async prepare(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await this.#send(method, path, body);
    const text = await response.text();
    return { status: response.status, body: bodyOf(text), events: [] };
  }

  /** Opens a stream and leaves it after some events, which are compared. */
  async head(
    step: string,
    path: string,
    body: unknown,
    isLast: (event: SeenEvent) => boolean,
  ): Promise<Answer> {
    const aborter = new AbortController();
    const response = await this.#send('POST', path, body, aborter.signal);
    let text = '';
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      const events = eventsOf(text);
      const last = events.findIndex(isLast);
      if (last < 0) continue;
      aborter.abort();
      const kept = events.slice(0, last + 1);
      this.observations.push({ step, status: response.status, events: kept });
      return { status: response.status, body: undefined, events: kept };
    }
    throw new Error(`${step}: the stream ended: ${text}`);
  }

  /** Keeps a value that a scenario made of answers. */
  note(step: string, body: unknown): void {
    this.observations.push({ step, body });
  }

  #send(
    method: string,
    path: string,
    body: unknown,
    signal = AbortSignal.timeout(TIMEOUT_MS),
  ): Promise<Response> {
    const content = body === undefined ? {} : { 'content-type': 'application/json' };
    return fetch(`${this.url}${path}`, {
      method,
      signal,
      // one that waits for its next request may be closed by the server at that very moment
      headers: { ...content, connection: 'close' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  }
}

function bodyOf(text: string): unknown {
  try {
    return text.trim() === '' ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return text;
  }
}

function eventsOf(text: string): SeenEvent[] {
  const frames = text.replaceAll('\r\n', '\n').split('\n\n');
  return frames.slice(0, -1).flatMap((frame) => {
    const field = (name: string): string | undefined => new RegExp(`^${name}: ?(.*)$`, 'm').exec(frame)?.[1];
    const [event, data] = [field('event'), field('data')];
    return data === undefined || event === undefined ? [] : [{ event, data: bodyOf(data) }];
  });
}
