import { BlockList, isIP } from 'node:net';
import { optionalText } from './field.js';
import { inheritedEnvironment, loadConfig } from './load-config.js';

/**
 * Names that curl, npm and most other programs have for their proxies; both cases are in use, the lower one
 * wins.
 */
export const PROXY_VARIABLES = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
] as const;

/** Target of a request. */
export interface Target {
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

type Variables = Readonly<Record<string, string | undefined>>;

const FIELDS = {
  http: optionalText('http_proxy', 'proxy for http URLs', { secret: true }),
  HTTP: optionalText('HTTP_PROXY', 'proxy for http URLs', { secret: true }),
  https: optionalText('https_proxy', 'proxy for https URLs', { secret: true }),
  HTTPS: optionalText('HTTPS_PROXY', 'proxy for https URLs', { secret: true }),
  no: optionalText('no_proxy', 'what is asked without a proxy'),
  NO: optionalText('NO_PROXY', 'what is asked without a proxy'),
};

/** Never asked through a proxy, whatever `NO_PROXY` says: this machine itself, and what serves a cloud machine its keys. */
const ALWAYS_DIRECT = new BlockList();
ALWAYS_DIRECT.addSubnet('127.0.0.0', 8, 'ipv4');
ALWAYS_DIRECT.addSubnet('169.254.0.0', 16, 'ipv4');
ALWAYS_DIRECT.addAddress('::1', 'ipv6');
ALWAYS_DIRECT.addSubnet('fe80::', 10, 'ipv6');

function isOn(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

function isInSubnet(entry: string, host: string): boolean {
  const [network = '', bits = ''] = entry.split('/');
  const family = isIP(network);
  if (family === 0 || !/^\d+$/.test(bits) || Number(bits) > (family === 6 ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family === 6 ? 'ipv6' : 'ipv4');
  return isOn(list, host);
}

/**
 * True when an entry covers a host, as curl reads it: a name stands for itself and all below it, with a port
 * for that port; `*` for everything.
 */
function covers(entry: string, { host, port }: Target): boolean {
  if (entry === '' || host === '') return false;
  if (entry === '*' || entry === host) return true;
  if (entry.includes('/')) return isInSubnet(entry, host);
  const [, bare = entry, itsPort] = /^\[?(.*?)\]?:(\d+)$/.exec(entry) ?? [];
  if (isIP(entry) === 0 && itsPort !== undefined && Number(itsPort) !== port) return false;
  const name = (isIP(entry) === 0 ? bare : entry).replace(/^\*?\./, '');
  return host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
}

/**
 * URL of the proxy that a request goes through by `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; undefined: none. Other
 * kinds of proxies than http and https are not used.
 */
export function proxyFor(target: Target, environment?: Variables): string | undefined {
  const found = environment ? loadConfig(FIELDS, environment) : loadConfig(FIELDS);
  const proxy = target.isTls ? (found.https ?? found.HTTPS) : (found.http ?? found.HTTP);
  if (proxy === undefined || !URL.canParse(proxy) || !/^https?:$/.test(new URL(proxy).protocol))
    return undefined;
  const asked = { ...target, host: target.host.toLowerCase().replace(/\.$/, '') };
  const isHere = asked.host === 'localhost' || asked.host.endsWith('.localhost');
  if (isHere || isOn(ALWAYS_DIRECT, asked.host)) return undefined;
  const entries = (found.no ?? found.NO ?? '').split(/[\s,]+/).map((entry) => entry.toLowerCase());
  return entries.some((entry) => covers(entry, asked)) ? undefined : proxy;
}

/**
 * The proxies of this process for programs that it starts, agents among them: Node's own `fetch` follows them, and
 * nothing of the platform is asked through them.
 * @param internal hosts of the platform beside loopback
 */
export function proxyEnvironment(internal: readonly string[] = []): Record<string, string> {
  const given = inheritedEnvironment(PROXY_VARIABLES);
  if (!PROXY_VARIABLES.some((name) => given[name] !== undefined && !/^no_proxy$/i.test(name))) return given;
  const { NO_PROXY, no_proxy: direct = NO_PROXY, ...proxies } = given;
  const hosts = ['localhost', '.localhost', '127.0.0.1', '::1', '[::1]', '169.254.169.254', ...internal];
  const all = [
    ...new Set([...(direct ?? '').split(/[\s,]+/).filter((entry) => entry !== ''), ...hosts]),
  ].join(',');
  return { ...proxies, NODE_USE_ENV_PROXY: '1', NO_PROXY: all, no_proxy: all };
}
