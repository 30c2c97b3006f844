import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import { urlHost } from '#lib/url';
import type { SecretWords } from '../wire/secret-words.js';

interface RedisHost {
  readonly host: string;
  readonly port: number;
}

interface RedisUser {
  readonly username?: string;
  readonly password?: string;
}

/**
 * Addresses of Redis: `servers` of which the first that serves is taken (one alone, or nodes of a cluster),
 * or `sentinels` that know which server is the primary at present.
 */
type RedisPlaces = {
  readonly hosts: readonly RedisHost[];
  readonly isTls: boolean;
  readonly user: RedisUser;
} & (
  | { readonly kind: 'servers' }
  | { readonly kind: 'sentinels'; readonly primary: string; readonly sentinelUser: RedisUser }
);

const FORM = /^(redis|rediss)(\+sentinel)?:\/\/(?:([^@/]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const SENTINEL_WORDS = ['sentinel_username', 'sentinel_password'];
const HOSTS = 'must have hosts as HOST:PORT, separated by commas; the scheme stands once, before the first';
const [SERVER_PORT, SENTINEL_PORT] = [6379, 26_379];

/** Reads a `REDIS_URI`. @throws Error with the expected form of the text, without any of it */
export function parseRedisUri(text: string): RedisPlaces {
  const [, scheme, sentinel, login, hostList = '', path = '', query = ''] = FORM.exec(text) ?? [];
  if (scheme === undefined)
    throw new Error(
      'must be redis://HOST:PORT or rediss://HOST:PORT, where several hosts are separated by commas, or redis+sentinel://HOST:PORT,HOST:PORT/PRIMARY for Sentinel',
    );
  const isTls = scheme === 'rediss';
  const user = userOf(login);
  const words = new URLSearchParams(query);
  const known = sentinel === undefined ? [] : SENTINEL_WORDS;
  const foreign = [...words.keys()].find((word) => !known.includes(word));
  if (foreign !== undefined) throw new Error(`must not have the parameter ${foreign}, which has no effect`);
  // databases have numbers, which separate no channels
  if (sentinel === undefined && !/^\d*$/.test(path)) throw new Error(HOSTS);
  if (sentinel === undefined) return { kind: 'servers', hosts: hostsOf(hostList, SERVER_PORT), isTls, user };
  const primary = decoded(path);
  if (primary === '')
    throw new Error('must name the primary that the sentinels watch, as redis+sentinel://HOST:PORT/PRIMARY');
  const [username, password] = SENTINEL_WORDS.map((word) => words.get(word) ?? undefined);
  const sentinelUser = { ...(username ? { username } : {}), ...(password ? { password } : {}) };
  return { kind: 'sentinels', hosts: hostsOf(hostList, SENTINEL_PORT), isTls, user, primary, sentinelUser };
}

/** Parts of a `REDIS_URI` that must not be shown. */
export function redisSecrets(text: string): string[] {
  const places = parseRedisUri(text);
  const passwords = [places.user.password];
  if (places.kind === 'sentinels') passwords.push(places.sentinelUser.password);
  return [text, ...passwords.filter((password) => password !== undefined)];
}

function hostsOf(text: string, usualPort: number): RedisHost[] {
  return text.split(',').map((one) => {
    const base = `http://${one === '' ? 'localhost' : one}`;
    if (!URL.canParse(base) || new URL(base).pathname !== '/') throw new Error(HOSTS);
    const { hostname, port } = new URL(base);
    // a URL of http does not show its own port
    const shown = /:(\d+)$/.exec(one)?.[1] ?? port;
    return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(shown || usualPort) };
  });
}

function userOf(login = ''): RedisUser {
  const at = login.indexOf(':');
  const username = decoded(at < 0 ? login : login.slice(0, at));
  const password = at < 0 ? '' : decoded(login.slice(at + 1));
  return { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('must have % only before two hexadecimal digits');
  }
}

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

  constructor(private readonly options: RedisChannelOptions) {
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
    const { places } = this.options;
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
    const cancel = this.options.clock.after(ANSWER_TIMEOUT_MS, () => {
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
    const { clock, log, onChange, secrets } = this.options;
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
    const { places, channel, clock, log, onChange, onMessage } = this.options;
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
