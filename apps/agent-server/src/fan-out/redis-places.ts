export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

export interface RedisUser {
  readonly username?: string;
  readonly password?: string;
}

/**
 * Addresses of Redis: `servers` of which the first that serves is taken (one alone, or nodes of a cluster),
 * or `sentinels` that know which server is the primary at present.
 */
export type RedisPlaces = {
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
  if (foreign !== undefined) throw new Error(`must not have the parameter ${foreign}, which drives nothing`);
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
