import type { LookupAddress } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import type { Clock } from '#lib/time';

/** Milliseconds between two looks at the file. */
const FRESH_MS = 2_000;

/** The machine's own table of names, which comes before every name server. A file that cannot be read holds no names. */
export class HostsFile {
  readonly #path: string;
  readonly #clock: Clock;
  #names: ReadonlyMap<string, readonly LookupAddress[]> = new Map();
  #version = '';
  #lookedAtMs = -Infinity;

  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  /** @param name in lower case, without a trailing dot */
  addressesOf(name: string): readonly LookupAddress[] {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lookedAtMs >= FRESH_MS) {
      this.#lookedAtMs = nowMs;
      this.#look();
    }
    return this.#names.get(name) ?? [];
  }

  /** Not through the thread pool: names must be found while that is busy. */
  #look(): void {
    try {
      const { mtimeMs, size, ino } = statSync(this.#path);
      const version = `${ino} ${size} ${mtimeMs}`;
      if (version === this.#version) return;
      this.#names = parseHosts(readFileSync(this.#path, 'utf8'));
      this.#version = version;
    } catch {
      this.#names = new Map();
      this.#version = '';
    }
  }
}

/** Lines of an address and its names; what follows `#` is a comment, and lines of another shape hold no names. */
function parseHosts(text: string): ReadonlyMap<string, readonly LookupAddress[]> {
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
