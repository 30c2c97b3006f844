import { urlHost } from '#lib/url';
import type { RedisHost, RedisPlaces, RedisUser } from './redis-places.js';

const CONNECT_TIMEOUT_MS = 3_000;

/** The part of the client that is used. */
export interface RedisClient {
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
export function hostText({ host, port }: RedisHost): string {
  return `${urlHost(host)}:${port}`;
}

/**
 * Connects to the first server that serves: in the order of the setting, so that all processes meet at the
 * same one, or the one that the sentinels name now.
 * @throws Error with the answer of each
 */
export async function openRedis(places: RedisPlaces): Promise<OpenedRedis> {
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
