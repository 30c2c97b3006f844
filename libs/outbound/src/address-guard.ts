import type { LookupAddress, LookupOptions } from 'node:dns';
import { BlockList, isIP, isIPv4, type LookupFunction } from 'node:net';
import { processNames, type Resolve } from './name-resolver.js';

/**
 * Reach of an address: the `public` internet, a `private` network (loopback included), or a range where no
 * store can ever be and machines keep their own credentials (`never`: link-local with the instance metadata,
 * unspecified, multicast, reserved).
 */
type Reach = 'public' | 'private' | 'never';

type Subnet = readonly [network: string, bits: number];

function listOf(family: 'ipv4' | 'ipv6', subnets: readonly Subnet[]): BlockList {
  const list = new BlockList();
  for (const [network, bits] of subnets) list.addSubnet(network, bits, family);
  return list;
}

const NEVER_V4 = listOf('ipv4', [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  // metadata services outside of link-local: Azure, Alibaba, Oracle
  ['168.63.129.16', 32],
  ['100.100.100.200', 32],
  ['192.0.0.192', 32],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]);

const PRIVATE_V4 = listOf('ipv4', [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
]);

const NEVER_V6 = listOf('ipv6', [
  ['::', 128],
  ['fe80::', 10],
  ['ff00::', 8],
  // metadata services: Amazon, Google, Scaleway
  ['fd00:ec2::254', 128],
  ['fd20:ce::254', 128],
  ['fd00:42::42', 128],
]);

/** All of IPv6 that is routed; whatever is not in it is private. */
const GLOBAL_V6 = listOf('ipv6', [['2000::', 3]]);

const PRIVATE_V6 = listOf('ipv6', [
  // Teredo, benchmarking, ORCHID; documentation
  ['2001::', 23],
  ['2001:db8::', 32],
  ['3fff::', 20],
]);

/** Addresses of IPv6 that carry one of IPv4, and the 16-bit group at which it begins. */
const CARRIERS: readonly (readonly [list: BlockList, group: number])[] = [
  [listOf('ipv6', [['::ffff:0:0', 96]]), 6],
  [listOf('ipv6', [['::ffff:0:0:0', 96]]), 6],
  [listOf('ipv6', [['64:ff9b::', 96]]), 6],
  [listOf('ipv6', [['2002::', 16]]), 1],
];
const COMPATIBLE = listOf('ipv6', [['::', 96]]);

/** The reach of an IP address in any notation; `never` for a text that is no address. */
export function reachOf(address: string): Reach {
  const plain = address.replace(/%.*$/, '');
  if (isIP(plain) === 0) return 'never';
  return isIPv4(plain) ? reachOfV4(plain) : reachOfV6(plain);
}

function reachOfV4(address: string): Reach {
  if (NEVER_V4.check(address, 'ipv4')) return 'never';
  return PRIVATE_V4.check(address, 'ipv4') ? 'private' : 'public';
}

function reachOfV6(address: string): Reach {
  const is = (list: BlockList): boolean => list.check(address, 'ipv6');
  const carrier = CARRIERS.find(([list]) => is(list));
  if (carrier) return reachOfV4(carriedV4(address, carrier[1]));
  if (is(NEVER_V6)) return 'never';
  // ::1 is among the addresses that once mapped to IPv4
  if (is(COMPATIBLE)) return groupsOf(address).at(6) === 0 ? 'private' : reachOfV4(carriedV4(address, 6));
  return is(GLOBAL_V6) && !is(PRIVATE_V6) ? 'public' : 'private';
}

function carriedV4(address: string, group: number): string {
  return groupsOf(address)
    .slice(group, group + 2)
    .flatMap((word) => [word >> 8, word & 255])
    .join('.');
}

/** The eight groups. The URL parser brings any way of writing into one: hexadecimal, shortened once. */
function groupsOf(address: string): readonly number[] {
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const words = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((word) => parseInt(word, 16));
  const [head = '', tail] = text.split('::');
  if (tail === undefined) return words(head);
  const [before, after] = [words(head), words(tail)];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** Reason why an address must not be dialled; `unresolved`: the name has no address. */
export type Refusal = Exclude<Reach, 'public'> | 'unresolved';

export interface AddressGuardOptions {
  /** Private networks and loopback may be dialled. */
  readonly allowPrivate: boolean;
  /** Error that the caller throws. */
  readonly refuse: (why: Refusal) => Error;
  /** Instead of {@link processNames}. */
  readonly resolve?: Resolve;
}

/** Names under which clouds serve the credentials of machines, whatever they resolve to. */
const METADATA_NAMES = new Set([
  'instance-data',
  'instance-data.ec2.internal',
  'metadata',
  'metadata.azure.internal',
  'metadata.goog',
  'metadata.google.internal',
  'metadata.tencentyun.com',
]);

/**
 * Decides which addresses may be dialled where an untrusted user wrote the address, who must not be able to
 * make this process talk to its own network or to the place of the machine's credentials.
 *
 * A name is resolved once for each connection, all its addresses are judged, and the connection goes to those
 * very addresses: a name that answers differently the next time (DNS rebinding) is judged again before it is
 * dialled.
 */
export class AddressGuard {
  readonly #allowPrivate: boolean;
  readonly #refuse: (why: Refusal) => Error;
  readonly #resolve: Resolve;

  constructor({ allowPrivate, refuse, resolve = processNames.resolve }: AddressGuardOptions) {
    this.#allowPrivate = allowPrivate;
    this.#refuse = refuse;
    this.#resolve = resolve;
  }

  /**
   * Checks a host without resolving it. Connections to literal addresses never ask `lookup`, so this must be
   * called before each of them.
   * @param host without brackets, as the URL parser writes it
   * @throws the error of `refuse`
   */
  checkHost(host: string): void {
    const why = isIP(host) === 0 ? this.#judgeName(host) : this.#judge(host);
    if (why) throw this.#refuse(why);
  }

  /** Resolver for `net.connect` and the agents above it: answers only addresses that may be dialled. */
  readonly lookup: LookupFunction = (name, options, callback) => {
    this.#find(name, options, (error, why, found) => {
      if (error) return callback(error, []);
      const [first] = found;
      if (why || !first) return callback(this.#refuse(why ?? 'unresolved'), []);
      if (options.all) return callback(null, found);
      callback(null, first.address, first.family);
    });
  };

  /**
   * Judges a host that a proxy will resolve, or that is only dialled later: refused when this machine knows
   * that it must not be dialled. A name that cannot be resolved here is judged then.
   */
  judgeAhead(host: string, answer: (refusal: Error | undefined) => void): void {
    const judged = (why: Refusal | undefined): void => answer(why && this.#refuse(why));
    if (isIP(host) !== 0) return judged(this.#judge(host));
    this.#find(host, { all: true }, (_, why) => judged(why));
  }

  #find(
    name: string,
    options: LookupOptions,
    answer: (error: Error | null, why: Refusal | undefined, found: LookupAddress[]) => void,
  ): void {
    const refused = this.#judgeName(name);
    if (refused) return answer(null, refused, []);
    this.#resolve(name, { ...options, all: true }, (error, found) => {
      if (error) return answer(error, undefined, []);
      // one forbidden address among good ones is no accident
      const why = found.map(({ address }) => this.#judge(address)).find((judged) => judged !== undefined);
      answer(null, why, found);
    });
  }

  #judgeName(name: string): Refusal | undefined {
    const plain = name.toLowerCase().replace(/\.+$/, '');
    if (METADATA_NAMES.has(plain)) return 'never';
    const isLoopback = plain === 'localhost' || plain.endsWith('.localhost');
    return isLoopback && !this.#allowPrivate ? 'private' : undefined;
  }

  #judge(address: string): Refusal | undefined {
    const reach = reachOf(address);
    if (reach === 'public' || (reach === 'private' && this.#allowPrivate)) return undefined;
    return reach;
  }
}
