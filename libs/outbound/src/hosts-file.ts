import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';

/** Addresses by name, in lower case and without a trailing dot. */
export type Hosts = ReadonlyMap<string, readonly LookupAddress[]>;

/** Lines of an address and its names; what follows `#` is a comment, and lines of another shape hold no names. */
export function parseHosts(text: string): Hosts {
  const names = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...aliases] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const alias of aliases) {
      const name = alias.toLowerCase().replace(/\.+$/, '');
      const found = names.get(name);
      if (!found) names.set(name, [{ address, family }]);
      else if (!found.some((other) => other.address === address)) found.push({ address, family });
    }
  }
  return names;
}
