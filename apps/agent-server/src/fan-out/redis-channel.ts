import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import { urlHost } from '#lib/url';
import type { SecretWords } from '../wire/secret-words.js';
import type { RedisHost, RedisPlaces, RedisUser } from './redis-places.js';

const CONNECT_TIMEOUT_MS = 3_000;

/** The part of the client that is used. */
interface RedisClient {
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (text: string) => void): Promise<unknown>;
  publish(channel: string, text: string): Promise<number>;
  sendCommand(words: readonly string[]): Promise<unknown>;
  ping(): Promise<unknown>;
  destroy(): void;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
}

export interface OpenedRedis {
  readonly client: RedisClient;
  /** The server as people know it. */
  readonly name: string;
  /** Rejects once the connection is lost. */
  readonly lost: Promise<never>;
}

/** A host as people write it. */
function hostText({ host, port }: RedisHost): string {
  return `${urlHost(host)}:${port}`;
}

/**
 * Connects to the first server that serves: in the order of the setting, so that all processes meet at the
 * same one, or the one that the sentinels name now.
 * @throws Error with the answer of each
 */
async function openRedis(places: RedisPlaces): Promise<OpenedRedis> {
  const refusals: string[] = [];
  for (const host of places.hosts) {
    try {
      if (places.kind === 'servers') return await openServer(host, places.user, places);
      return await openServer(await askSentinel(host, places), places.user, places);
    } catch (error) {
      if (places.hosts.length === 1) throw error;
      refusals.push(`${hostText(host)}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(refusals.join('; '));
}

async function openServer(host: RedisHost, user: RedisUser, places: RedisPlaces): Promise<OpenedRedis> {
  const opened = await open(host, user, places.isTls);
  // messages published at a replica reach no client of its primary
  if (places.kind === 'servers' && places.hosts.length === 1) return opened;
  try {
    const role = await Promise.race([opened.client.sendCommand(['HELLO']), opened.lost]);
    const { mode, role: found } = fieldsOf(role);
    if (mode === 'cluster' || found === 'master') return opened;
    throw new Error(`is a ${String(mode)} ${String(found)}, not the primary`);
  } catch (error) {
    opened.client.destroy();
    throw error;
  }
}

async function askSentinel(
  host: RedisHost,
  { primary, sentinelUser, isTls }: Extract<RedisPlaces, { kind: 'sentinels' }>,
): Promise<RedisHost> {
  const { client, lost } = await open(host, sentinelUser, isTls);
  try {
    const asked = client.sendCommand(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', primary]);
    const found = await Promise.race([asked, lost]);
    if (!Array.isArray(found)) throw new Error(`the sentinel watches no primary named ${primary}`);
    return { host: String(found[0]), port: Number(found[1]) };
  } finally {
    client.destroy();
  }
}

async function open({ host, port }: RedisHost, user: RedisUser, isTls: boolean): Promise<OpenedRedis> {
  // loaded by its users alone: 10 MB of memory
  const { createClient } = await import('@redis/client');
  const client: RedisClient = createClient({
    ...user,
    disableOfflineQueue: true,
    socket: {
      host,
      port,
      connectTimeout: CONNECT_TIMEOUT_MS,
      reconnectStrategy: false as const,
      ...(isTls ? { tls: true as const } : {}),
    },
  });
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => undefined);
  client.on('error', (error) => lost.reject(error));
  client.on('end', () => lost.reject(new Error('connection closed')));
  try {
    await Promise.race([client.connect(), lost.promise]);
  } catch (error) {
    client.destroy();
    throw error;
  }
  return { client, name: hostText({ host, port }), lost: lost.promise };
}

/** A map as one version of the protocol or the other has it. */
function fieldsOf(answer: unknown): Readonly<Record<string, unknown>> {
  if (!Array.isArray(answer)) return typeof answer === 'object' && answer !== null ? { ...answer } : {};
  const pairs = answer.flatMap((name: unknown, at) =>
    at % 2 === 0 ? [[String(name), answer[at + 1] as unknown] as const] : [],
  );
  return Object.fromEntries(pairs);
}

const PAUSES = { firstMs: 250, longestMs: 5_000 };

/** A connection whose other end has disappeared reports no error: it has to answer a question. */
const PING_EVERY_MS = 1_000;
const ANSWER_TIMEOUT_MS = 2_000;

export interface RedisChannelOptions {
  readonly places: RedisPlaces;
  /** Channel that this process listens to. */
  readonly channel: string;
  readonly onMessage: (text: string) => void;
  /** The connection was lost, or is there again: messages may have been lost. */
  readonly onChange: () => void;
  readonly secrets: SecretWords;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * One connection to Redis that listens to one channel and publishes to others. It is opened again until it is
 * stopped, and nothing waits for it. Nothing is kept in Redis.
 */
export class RedisChannel {
  readonly #options: RedisChannelOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  /** Subscribed; undefined while Redis is unavailable. */
  #client: RedisClient | undefined;
  /** A question has been without an answer for too long: nothing is sent until it comes or the connection breaks. */
  #isSilent = false;
  /** Address of its last connection. */
  #server: string | undefined;
  #trouble: string | undefined = 'not connected yet';
  #connections: Promise<void> = Promise.resolve();

  constructor(options: RedisChannelOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.clock, PAUSES);
  }

  get isLive(): boolean {
    return this.#client !== undefined && !this.#isSilent;
  }

  /** Problem with Redis; undefined while it serves. */
  get note(): string | undefined {
    if (this.isLive) return undefined;
    return `${this.#name} unavailable: ${this.#trouble ?? 'no answer'}; the database carries the output of runs`;
  }

  /** The server as people know it: that of the last connection, or all that it may be. */
  get #name(): string {
    const { places } = this.#options;
    const hosts = places.hosts.map(hostText).join(', ');
    if (this.#server !== undefined) return `Redis at ${this.#server}`;
    return places.kind === 'servers'
      ? `Redis at ${hosts}`
      : `Redis ${places.primary} of the sentinels at ${hosts}`;
  }

  start(): void {
    this.#connections = this.#keepConnected();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#connections;
  }

  /** Answers true when a server listens on the channel and was sent the text. Never rejects. */
  async publish(channel: string, text: string): Promise<boolean> {
    const client = this.#client;
    if (!client || this.#isSilent) return false;
    try {
      return ((await this.#answer(client.publish(channel, text))) ?? 0) > 0;
    } catch {
      return false; // the connection broke, which is logged once for all
    }
  }

  /** Undefined when it takes too long. */
  async #answer<T>(asked: Promise<T>): Promise<T | undefined> {
    const late = Promise.withResolvers<undefined>();
    const cancel = this.#options.clock.after(ANSWER_TIMEOUT_MS, () => {
      this.#isSilent = true;
      asked.then(
        () => (this.#isSilent = false),
        () => undefined,
      );
      late.resolve(undefined);
    });
    return Promise.race([asked, late.promise]).finally(cancel);
  }

  async #keepConnected(): Promise<void> {
    const { clock, log, onChange, secrets } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#whileConnected();
      } catch (error) {
        if (signal.aborted) return;
        this.#trouble = secrets.hide(errorText(error));
        const pauseMs = this.#backoff.nextMs();
        if (this.#client || this.#backoff.failures === 1)
          log.warn({ redis: this.#name, error: this.#trouble, retryMs: Math.round(pauseMs) }, UNAVAILABLE);
        if (this.#client) {
          this.#client = undefined;
          onChange();
        }
        await clock.sleep(pauseMs, signal).catch(() => undefined);
      }
    }
  }

  /** Rejects once the connection is lost or cannot be had. */
  async #whileConnected(): Promise<void> {
    const { places, channel, clock, log, onChange, onMessage } = this.#options;
    const { signal } = this.#stop;
    const { client, name, lost } = await openRedis(places);
    try {
      this.#server = name;
      await Promise.race([client.subscribe(channel, onMessage), lost]);
      this.#client = client;
      this.#isSilent = false;
      this.#backoff.reset();
      log.info({ redis: this.#name }, 'connected to Redis');
      onChange();
      while (!signal.aborted) {
        await Promise.race([clock.sleep(PING_EVERY_MS, signal).catch(() => undefined), lost]);
        const pong = await Promise.race([this.#answer(client.ping()), lost]);
        if (pong === undefined) throw new Error(`no answer within ${ANSWER_TIMEOUT_MS} ms`);
      }
    } finally {
      if (signal.aborted) this.#client = undefined;
      client.destroy();
    }
  }
}

const UNAVAILABLE = 'Redis unavailable; the database carries the output of runs until it is back';
