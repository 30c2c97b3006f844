import { errorText } from '#lib/errors';
import type { Pod } from '#lib/resources';
import type { Clock } from '#lib/time';
import { byTime, type LogLine, sizeOfLine } from './log-line.js';
import { haveEnded, type LogSource, logSources } from './log-source.js';
import { type LogClient, readLogs, readOne, type ReadOptions } from './read-logs.js';

/**
 * Position in the log of one container, so that reading it again from that time repeats nothing. Several
 * lines may have one time: those of the last one are remembered.
 */
export class SeenLines {
  #time = '';
  readonly #texts = new Map<string, number>();

  /** Time of the last line; undefined before the first. */
  get time(): string | undefined {
    return this.#time === '' ? undefined : this.#time;
  }

  add({ time, text }: LogLine): void {
    if (time < this.#time) return;
    if (time > this.#time) this.#texts.clear();
    this.#time = time;
    this.#texts.set(text, (this.#texts.get(text) ?? 0) + 1);
  }

  /**
   * A filter for the lines that come when the log is read again, in their order: true for new ones. All lines
   * of the last time are known until every remembered one has come, since those before them were read or left
   * out.
   */
  resume(): (line: LogLine) => boolean {
    const [time, left] = [this.#time, new Map(this.#texts)];
    return (line) => {
      if (line.time !== time) return line.time > time;
      if (left.size === 0) return true;
      const times = left.get(line.text) ?? 0;
      if (times > 1) left.set(line.text, times - 1);
      else left.delete(line.text);
      return false;
    };
  }
}

/** Lines of all containers that wait for their reader; those who bring more wait meanwhile. */
const MAX_QUEUED_BYTES = 1_048_576;

/** Queue in which the followers of several logs leave lines for one reader. */
class LineQueue {
  #lines: LogLine[] = [];
  #bytes = 0;
  #filled = Promise.withResolvers<void>();
  #emptied = Promise.withResolvers<void>();

  /** Resolves once there is space for more. */
  async put(lines: readonly LogLine[]): Promise<void> {
    if (lines.length === 0) return;
    for (const line of lines) {
      this.#lines.push(line);
      this.#bytes += sizeOfLine(line);
    }
    this.wake();
    while (this.#bytes > MAX_QUEUED_BYTES) await this.#emptied.promise;
  }

  /** Lets the reader look, lines or not. */
  wake(): void {
    this.#filled.resolve();
  }

  /** Resolves when there are lines, or `wake` was called. */
  async filled(): Promise<void> {
    await this.#filled.promise;
    this.#filled = Promise.withResolvers<void>();
  }

  /** All of them, by time. */
  take(): readonly LogLine[] {
    const taken = this.#lines.sort(byTime);
    [this.#lines, this.#bytes] = [[], 0];
    this.#emptied.resolve();
    this.#emptied = Promise.withResolvers<void>();
    return taken;
  }
}

/** The last of many lines that come by time, as far as they fit. */
export class LastLines {
  #lines: LogLine[] = [];
  #bytes = 0;
  #first = 0;
  #isCut = false;

  constructor(
    private readonly maxLines: number,
    private readonly maxBytes = Infinity,
  ) {}

  add(lines: readonly LogLine[]): void {
    for (const line of lines) {
      this.#lines.push(line);
      this.#bytes += sizeOfLine(line);
    }
    while (this.#lines.length - this.#first > this.maxLines) this.#drop();
    while (this.#bytes > this.maxBytes && this.#lines.length - this.#first > 1) {
      this.#isCut = true;
      this.#drop();
    }
    if (this.#first < 1_024 || this.#first < this.#lines.length / 2) return;
    this.#lines = this.lines();
    this.#first = 0;
  }

  /** Oldest first. */
  lines(): LogLine[] {
    return this.#lines.slice(this.#first);
  }

  /** True when fewer are left than were asked for, since they are too long. */
  get isCut(): boolean {
    return this.#isCut && this.#lines.length - this.#first < this.maxLines;
  }

  #drop(): void {
    const line = this.#lines[this.#first++];
    if (line) this.#bytes -= sizeOfLine(line);
  }
}

/** Interval of listing pods: for new ones, and for containers that were started again. */
const LIST_MS = 2_000;
/** Lines of several containers that come within this time are put in order. */
const ORDER_MS = 100;
/** Logs that one reader follows at once. */
const MAX_SOURCES = 64;
/** Limit for the last lines that exist at the beginning. */
const MAX_FIRST_BYTES = 1_048_576;

export interface FollowOptions extends Omit<ReadOptions, 'previous'> {
  readonly client: LogClient;
  /** The pods as they are now; undefined once there will be no more, which ends it. */
  readonly pods: () => Promise<readonly Pod[] | undefined>;
  readonly container?: string | undefined;
  /** True when it ends once every pod has ended. */
  readonly endsWithPods: boolean;
  /** Time without a line after which an empty batch is given out, which shows that all is well. */
  readonly idleMs: number;
  readonly clock: Clock;
}

/** State of one followed container. */
interface Followed {
  readonly seen: SeenLines;
  isOpen: boolean;
  /** Number of last lines that are wanted of a log that was empty at the beginning. */
  firstTail: number | undefined;
  /** The attempt that has ended and is read to its end. */
  readAttempt: string | undefined;
}

/**
 * The logs of pods that come and go: what is there by time, then what comes, as it comes. A log whose connection breaks is
 * read on where it was; containers that start again and new pods join in.
 * @throws the reason of `signal`
 */
export async function* followLogs(options: FollowOptions): AsyncGenerator<readonly LogLine[], void, void> {
  yield* new Following(options).batches();
}

class Following {
  readonly #followed = new Map<string, Followed>();
  readonly #queue = new LineQueue();
  readonly #ending = new AbortController();
  readonly #signal: AbortSignal;
  #isOver = false;
  #hasFailed = false;
  #isFull = false;

  constructor(private readonly options: FollowOptions) {
    this.#signal = AbortSignal.any([options.signal, this.#ending.signal]);
  }

  async *batches(): AsyncGenerator<readonly LogLine[], void, void> {
    const { clock, idleMs, signal } = this.options;
    const wake = (): void => this.#queue.wake();
    signal.addEventListener('abort', wake, { once: true });
    try {
      yield* this.#begin();
      void this.#look();
      for (;;) {
        const cancel = clock.after(idleMs, wake);
        await this.#queue.filled();
        cancel();
        signal.throwIfAborted();
        await clock.sleep(ORDER_MS, signal);
        const lines = this.#queue.take();
        if (lines.length === 0 && this.#isOver) return;
        yield lines;
      }
    } finally {
      signal.removeEventListener('abort', wake);
      this.#ending.abort(new Error('the reader of the logs has gone'));
      this.#queue.take();
    }
  }

  /** Lines that exist at the beginning. */
  async *#begin(): AsyncGenerator<readonly LogLine[], void, void> {
    const { client, container, tail } = this.options;
    const pods = await this.#list();
    const sources = logSources(pods ?? [], { container }).slice(0, MAX_SOURCES);
    const there = readLogs(client, sources, { ...this.options, signal: this.#signal });
    for (const source of sources) this.#of(source).firstTail = tail;
    const last = tail === undefined ? undefined : new LastLines(tail, MAX_FIRST_BYTES);
    for await (const batch of there) {
      for (const line of batch) this.#followed.get(nameOf(line))?.seen.add(line);
      if (last) last.add(batch);
      else yield batch;
    }
    if (last?.isCut) this.options.onNote(`fewer than ${tail} lines are shown: they are too long`);
    if (last) yield last.lines();
  }

  /** Opens what is not open, over and over. */
  async #look(): Promise<void> {
    const { clock, container, endsWithPods } = this.options;
    try {
      for (; !this.#isOver; await clock.sleep(LIST_MS, this.#signal)) {
        const pods = await this.#list();
        if (this.#hasFailed) continue;
        const sources = logSources(pods ?? [], { container });
        for (const source of sources) this.#open(source);
        const isRead = [...this.#followed.values()].every(({ isOpen }) => !isOpen);
        const isEnded = endsWithPods && pods !== undefined && pods.length > 0 && haveEnded(pods);
        this.#isOver = pods === undefined || (isEnded && isRead);
      }
    } catch {
      // aborted: the reader knows
    } finally {
      this.#isOver = true;
      this.#queue.wake();
    }
  }

  async #list(): Promise<readonly Pod[] | undefined> {
    try {
      const pods = await this.options.pods();
      this.#hasFailed = false;
      return pods;
    } catch (error) {
      this.#signal.throwIfAborted();
      if (!this.#hasFailed) this.options.onNote(`listing pods failed, retrying: ${errorText(error)}`);
      this.#hasFailed = true;
      return [];
    }
  }

  #of(source: LogSource): Followed {
    const name = nameOf(source);
    const known = this.#followed.get(name);
    if (known) return known;
    const made: Followed = {
      seen: new SeenLines(),
      isOpen: false,
      firstTail: undefined,
      readAttempt: undefined,
    };
    this.#followed.set(name, made);
    return made;
  }

  #open(source: LogSource): void {
    if (!this.#followed.has(nameOf(source)) && this.#followed.size >= MAX_SOURCES) return this.#refuse();
    const followed = this.#of(source);
    if (followed.isOpen || followed.readAttempt === source.attempt) return;
    followed.isOpen = true;
    void this.#read(source, followed);
  }

  #refuse(): void {
    if (!this.#isFull)
      this.options.onNote(
        `${MAX_SOURCES} containers are followed at once; name a pod or a container for others`,
      );
    this.#isFull = true;
  }

  async #read(source: LogSource, followed: Followed): Promise<void> {
    const { client, since } = this.options;
    const { seen } = followed;
    const isNew = seen.resume();
    try {
      const lines = readOne(client, source, {
        ...this.options,
        since: seen.time ?? since,
        follow: true,
        signal: this.#signal,
        tail: seen.time === undefined ? followed.firstTail : undefined,
      });
      for await (const batch of lines) {
        const fresh = batch.filter(isNew);
        for (const line of fresh) seen.add(line);
        await this.#queue.put(fresh);
      }
      if (source.hasEnded) followed.readAttempt = source.attempt;
    } catch {
      // noted; opened again with the next look
    } finally {
      followed.isOpen = false;
    }
  }
}

function nameOf({ pod, container }: Pick<LogLine, 'pod' | 'container'>): string {
  return `${pod}/${container}`;
}
