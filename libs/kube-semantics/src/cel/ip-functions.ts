import type { Environment } from '@marcbachmann/cel-js';
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
