import { systemClock } from '#lib/time';

/** A part of a stream of server-sent events. */
export interface StreamPart {
  readonly id: string;
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** Between a stream that broke and the next look, as clients of servers that drain wait. */
const PAUSE_MS = 100;

function parse(block: string): StreamPart | undefined {
  const fields = new Map(
    block
      .split(/\r?\n/)
      .filter((line) => line !== '' && !line.startsWith(':'))
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trimStart()]),
  );
  const [event, data] = [fields.get('event'), fields.get('data')];
  if (event === undefined || data === undefined) return undefined;
  return { id: fields.get('id') ?? '', event, data: JSON.parse(data) as Record<string, unknown> };
}

/**
 * Reads a run's stream until the run has ended, as a client without an SDK: where the stream breaks it comes back with
 * the id of the last event. Every answer must be 200; a connection that ends in the middle is the server's right.
 */
export class HeldStream {
  readonly heard: StreamPart[] = [];
  /** How often it came back. */
  resumed = -1;
  readonly done: Promise<void>;

  /** @param runUrl `…/threads/ID/runs/ID` */
  constructor(
    private readonly runUrl: string,
    private readonly headers: Readonly<Record<string, string>>,
  ) {
    this.done = this.#read();
  }

  async #read(): Promise<void> {
    do {
      this.resumed++;
      if (this.resumed > 0) await systemClock.sleep(PAUSE_MS);
      await this.#readOnce();
    } while (await this.#isUnderWay());
  }

  async #isUnderWay(): Promise<boolean> {
    const answer = await fetch(this.runUrl, { headers: this.headers });
    if (answer.status !== 200) throw new Error(`GET ${this.runUrl}: ${answer.status} ${await answer.text()}`);
    const { status } = (await answer.json()) as { status: string };
    return ['pending', 'running'].includes(status);
  }

  async #readOnce(): Promise<void> {
    const answer = await fetch(`${this.runUrl}/stream?stream_mode=custom&stream_mode=values`, {
      headers: { ...this.headers, 'last-event-id': this.heard.at(-1)?.id ?? '-1' },
    });
    if (answer.status !== 200 || !answer.body)
      throw new Error(`joining ${this.runUrl}: ${answer.status} ${await answer.text()}`);
    let rest = '';
    const decoder = new TextDecoder();
    try {
      for await (const piece of answer.body) {
        rest += decoder.decode(piece as Uint8Array, { stream: true });
        const blocks = rest.split(/\r?\n\r?\n/);
        rest = blocks.pop() ?? '';
        for (const block of blocks) {
          const part = parse(block);
          if (part) this.heard.push(part);
        }
      }
    } catch {
      // what was read of an event that broke off comes again
    }
  }
}
