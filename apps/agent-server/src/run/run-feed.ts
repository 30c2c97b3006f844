import type { RunEvent } from '../stream/run-event.js';

/** How a run ended, for those who wait. */
export interface RunResult {
  /** JSON text: the last values, or `{"__error__": {error, message}}`. */
  readonly body: string;
}

/** A reader of a run's output. Calls come in order; `ended` is the last. */
export interface RunReader {
  event(event: RunEvent): void;
  ended(result: RunResult): void;
}

/** The output of one run from now on, to all its readers in this process. Nothing is kept. */
export class RunFeed {
  readonly #readers = new Set<RunReader>();
  #result: RunResult | undefined;
  #opening: RunEvent | undefined;
  #nextId = 0;

  constructor(readonly runId: string) {}

  get readers(): number {
    return this.#readers.size;
  }

  get hasReaders(): boolean {
    return this.#readers.size > 0;
  }

  get result(): RunResult | undefined {
    return this.#result;
  }

  /** Answers a function that stops the reading. */
  read(reader: RunReader): () => void {
    if (this.#result) {
      reader.ended(this.#result);
      return () => undefined;
    }
    if (this.#opening) reader.event(this.#opening);
    this.#readers.add(reader);
    return () => this.#readers.delete(reader);
  }

  /** Names the run and attempt of the output: the first event of every reader, also of one that comes later. */
  open(attempt: number): void {
    const data = JSON.stringify({ run_id: this.runId, attempt });
    if (this.#opening?.data === data) return;
    this.#opening = { id: this.#nextId, event: 'metadata', data };
    this.publish(this.#opening);
  }

  publish(event: RunEvent): void {
    if (this.#result) return;
    const numbered = { ...event, id: this.#nextId++, isShared: this.#readers.size > 1 };
    for (const reader of this.#readers) reader.event(numbered);
  }

  end(result: RunResult): void {
    if (this.#result) return;
    this.#result = result;
    for (const reader of this.#readers) reader.ended(result);
    this.#readers.clear();
  }
}

/** The feeds of this process by run. A feed lives until its run has ended or its last reader has left. */
export class RunFeeds {
  readonly #feeds = new Map<string, RunFeed>();

  /** Readers of all feeds. */
  get readers(): number {
    return [...this.#feeds.values()].reduce((sum, feed) => sum + feed.readers, 0);
  }

  find(runId: string): RunFeed | undefined {
    return this.#feeds.get(runId);
  }

  open(runId: string): RunFeed {
    let feed = this.#feeds.get(runId);
    if (!feed) {
      feed = new RunFeed(runId);
      this.#feeds.set(runId, feed);
    }
    return feed;
  }

  end(runId: string, result: RunResult): void {
    this.#feeds.get(runId)?.end(result);
    this.#feeds.delete(runId);
  }

  /** Forgets a feed without readers. */
  close(runId: string): void {
    if (!this.#feeds.get(runId)?.hasReaders) this.#feeds.delete(runId);
  }
}
