import { BlockList, isIP, isIPv4 } from 'node:net';

/**
 * Reach of an address: the `public` internet, a `private` network (loopback included), or a range where no
 * store can ever be and machines keep their own credentials (`never`: link-local with the instance metadata,
 * unspecified, multicast, reserved).
 */
export type Reach = 'public' | 'private' | 'never';

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
