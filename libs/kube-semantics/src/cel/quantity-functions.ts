import type { Environment } from '@marcbachmann/cel-js';
import { parseQuantity } from '../quantity/quantity.js';
import { BlockList, isIP } from '../schema/ip-address.js';

class CelIp {
  constructor(
    readonly text: string,
    readonly family: 4 | 6,
  ) {}
}

class CelCidr {
  constructor(
    readonly ip: CelIp,
    readonly prefixLength: number,
  ) {}
}

/** The basic part of Kubernetes' IP and CIDR libraries. */
export function registerIpFunctions(environment: Environment): void {
  environment.registerType('net.IP', CelIp);
  environment.registerType('net.CIDR', CelCidr);
  environment.registerFunction('isIP(string): bool', (text: string) => isIP(text) > 0);
  environment.registerFunction('ip(string): net.IP', parseIp);
  environment.registerFunction('net.IP.family(): int', (ip: CelIp) => BigInt(ip.family));
  environment.registerFunction('net.IP.isLoopback(): bool', (ip: CelIp) =>
    ip.family === 4 ? ip.text.startsWith('127.') : ip.text === '::1',
  );
  environment.registerFunction(
    'net.IP.isUnspecified(): bool',
    (ip: CelIp) => ip.text === '0.0.0.0' || ip.text === '::',
  );
  environment.registerFunction('isCIDR(string): bool', (text: string) => parseCidr(text) !== undefined);
  environment.registerFunction('cidr(string): net.CIDR', (text: string) => {
    const cidr = parseCidr(text);
    if (cidr === undefined)
      throw new Error(`network address parse error during conversion from string: ${JSON.stringify(text)}`);
    return cidr;
  });
  environment.registerFunction('net.CIDR.prefixLength(): int', (cidr: CelCidr) => BigInt(cidr.prefixLength));
  environment.registerFunction('net.CIDR.ip(): net.IP', (cidr: CelCidr) => cidr.ip);
  environment.registerFunction('net.CIDR.containsIP(string): bool', (cidr: CelCidr, text: string) =>
    contains(cidr, parseIp(text)),
  );
  environment.registerFunction('net.CIDR.containsIP(net.IP): bool', contains);
}

function parseIp(text: string): CelIp {
  const family = isIP(text);
  if (family !== 4 && family !== 6) {
    throw new Error(`IP Address ${JSON.stringify(text)} parse error during conversion from string`);
  }
  return new CelIp(text, family);
}

function parseCidr(text: string): CelCidr | undefined {
  const [address = '', bits = ''] = text.split('/');
  const family = isIP(address);
  const most = family === 4 ? 32 : 128;
  if ((family !== 4 && family !== 6) || !/^\d{1,3}$/.test(bits) || Number(bits) > most) return undefined;
  return new CelCidr(new CelIp(address, family), Number(bits));
}

function contains({ ip, prefixLength }: CelCidr, other: CelIp): boolean {
  if (ip.family !== other.family) return false;
  const list = new BlockList();
  list.addSubnet(ip.text, prefixLength, ip.family === 4 ? 'ipv4' : 'ipv6');
  return list.check(other.text, ip.family === 4 ? 'ipv4' : 'ipv6');
}

const NANO = 10n ** 9n;

/** A quantity inside a rule. */
class CelQuantity {
  constructor(readonly nano: bigint) {}
}

/** Kubernetes' quantity library. */
export function registerQuantityFunctions(environment: Environment): void {
  const type = 'kubernetes.Quantity';
  environment.registerType(type, CelQuantity);
  environment.registerFunction(
    'isQuantity(string): bool',
    (text: string) => parseQuantity(text) !== undefined,
  );
  environment.registerFunction(`quantity(string): ${type}`, parse);
  environment.registerFunction(`${type}.isInteger(): bool`, (value: CelQuantity) => value.nano % NANO === 0n);
  environment.registerFunction(`${type}.asInteger(): int`, (value: CelQuantity) => {
    if (value.nano % NANO !== 0n) throw new Error('cannot convert value to integer');
    return value.nano / NANO;
  });
  environment.registerFunction(
    `${type}.asApproximateFloat(): double`,
    (value: CelQuantity) => Number(value.nano) / 1e9,
  );
  environment.registerFunction(`${type}.sign(): int`, ({ nano }: CelQuantity) =>
    nano > 0n ? 1n : nano < 0n ? -1n : 0n,
  );
  const compare = (left: CelQuantity, right: CelQuantity): bigint =>
    left.nano < right.nano ? -1n : left.nano > right.nano ? 1n : 0n;
  environment.registerFunction(`${type}.compareTo(${type}): int`, compare);
  environment.registerFunction(
    `${type}.isLessThan(${type}): bool`,
    (a: CelQuantity, b: CelQuantity) => compare(a, b) < 0n,
  );
  environment.registerFunction(
    `${type}.isGreaterThan(${type}): bool`,
    (a: CelQuantity, b: CelQuantity) => compare(a, b) > 0n,
  );
  const plus = (sign: bigint) => (left: CelQuantity, right: CelQuantity | bigint) =>
    new CelQuantity(left.nano + sign * (right instanceof CelQuantity ? right.nano : right * NANO));
  for (const other of [type, 'int']) {
    environment.registerFunction(`${type}.add(${other}): ${type}`, plus(1n));
    environment.registerFunction(`${type}.sub(${other}): ${type}`, plus(-1n));
  }
}

function parse(text: string): CelQuantity {
  const found = parseQuantity(text);
  if (found === undefined) {
    throw new Error(
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  }
  return new CelQuantity(found.nano);
}
