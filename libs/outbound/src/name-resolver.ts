import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { type Clock, systemClock } from '#lib/time';

/** Addresses by name, in lower case and without a trailing dot. */
type Hosts = ReadonlyMap<string, readonly LookupAddress[]>;

/** Lines of an address and its names; what follows `#` is a comment, and lines of another shape hold no names. */
function parseHosts(text: string): Hosts {
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

/** Milliseconds between two looks at the file. */
const FRESH_MS = 2_000;

/** A file of the machine's settings, read again when it has changed. One that cannot be read is empty. */
class MachineFile<T> {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #parse: (text: string) => T;
  #value: T;
  #version = '';
  #lookedAtMs = -Infinity;

  constructor(path: string, clock: Clock, parse: (text: string) => T) {
    this.#path = path;
    this.#clock = clock;
    this.#parse = parse;
    this.#value = parse('');
  }

  get value(): T {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lookedAtMs >= FRESH_MS) {
      this.#lookedAtMs = nowMs;
      this.#look();
    }
    return this.#value;
  }

  /** Not through the thread pool: names must be found while that is busy. */
  #look(): void {
    let text = '';
    let version = '';
    try {
      const { mtimeMs, size, ino } = statSync(this.#path);
      version = `${ino} ${size} ${mtimeMs}`;
      if (version === this.#version) return;
      text = readFileSync(this.#path, 'utf8');
    } catch {
      // a file that cannot be read counts as empty
    }
    this.#value = this.#parse(text);
    this.#version = version;
  }
}

/** Settings of `resolv.conf` for names that are not fully qualified. */
interface SearchList {
  readonly domains: readonly string[];
  /** Names with fewer dots are looked for below the domains first. */
  readonly ndots: number;
}

/** Limit of resolvers; further domains are cut off. */
const MAX_DOMAINS = 6;
const MAX_NDOTS = 15;

/** The last `search` or `domain` counts. */
export function parseSearchList(text: string): SearchList {
  let domains: readonly string[] = [];
  let ndots = 1;
  for (const line of text.split('\n')) {
    const [word, ...values] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/);
    if (word === 'search' || word === 'domain')
      domains = values
        .map((domain) => domain.toLowerCase().replace(/^\.+|\.+$/g, ''))
        .filter((domain) => domain !== '')
        .slice(0, MAX_DOMAINS);
    if (word !== 'options') continue;
    const given = values
      .map((value) => /^ndots:(\d+)$/.exec(value)?.[1])
      .find((digits) => digits !== undefined);
    if (given !== undefined) ndots = Math.min(Number(given), MAX_NDOTS);
  }
  return { domains, ndots };
}

/** The fully qualified candidates for a name, in the order in which they are asked for. */
export function wholeNames(given: string, { domains, ndots }: SearchList): readonly string[] {
  const name = given.replace(/\.+$/, '');
  if (given.endsWith('.')) return [name];
  const below = domains.map((domain) => `${name}.${domain}`);
  return name.split('.').length - 1 >= ndots ? [name, ...below] : [...below, name];
}

/** Finds all addresses of a name. Errors have the codes of `getaddrinfo`. */
export type Resolve = (
  name: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

/** Time limit from the question to the answer, all name servers and the machine's own resolver together. */
const DEADLINE_MS = 5_000;

/** Timeout and attempts per query to a name server. */
const QUESTION = { timeout: 1_500, tries: 2 };

/** Time for which an answer of the other address family is awaited after the first. */
const OTHER_FAMILY_MS = 500;

/** Names at a time; each is two questions to the name servers. */
const MAX_NAMES = 256;

/** Node has two threads for names (half of its pool), and `getaddrinfo` cannot be cancelled: one is for the process itself. */
const MAX_THREADS = 1;

/** Name servers are read again from the machine's settings, which change when a laptop moves. */
const SETTINGS_MS = 10_000;

/** Answer of all name servers: addresses, no such name, or nothing in time. */
type Answer = readonly LookupAddress[] | 'unknown' | 'silent';

export interface NameResolverOptions {
  readonly clock?: Clock;
  /** Instead of those of the machine: addresses with an optional port. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  readonly resolvConf?: string;
  /** Knows the names that name servers do not: mDNS, plugins of the machine. */
  readonly system?: Resolve;
}

/**
 * Finds the addresses of names that callers write. `dns.lookup` would let them stop every other lookup of the process,
 * that of its database included: each holds one of two threads for as long as a name server is silent.
 *
 * 1. The hosts file, then `localhost` and names below it.
 * 2. The name servers, by UDP, without a thread, also below the search domains. One that is silent ends the search at the deadline.
 * 3. Names that they do not have: `getaddrinfo`, one after the other.
 *
 * A name that is being looked for is not looked for twice.
 */
export class NameResolver {
  readonly #clock: Clock;
  readonly #servers: readonly string[] | undefined;
  readonly #hosts: MachineFile<Hosts>;
  readonly #search: MachineFile<SearchList>;
  readonly #system: Resolve;
  readonly #underWay = new Map<string, Promise<readonly LookupAddress[]>>();
  readonly #waiting: (() => void)[] = [];
  #busyThreads = 0;
  #resolver: { readonly resolver: Resolver; readonly madeAtMs: number } | undefined;

  constructor({
    clock = systemClock,
    servers,
    hostsFile = '/etc/hosts',
    resolvConf = '/etc/resolv.conf',
    system = lookup,
  }: NameResolverOptions = {}) {
    this.#clock = clock;
    this.#servers = servers;
    this.#hosts = new MachineFile(hostsFile, clock, parseHosts);
    this.#search = new MachineFile(resolvConf, clock, parseSearchList);
    this.#system = system;
  }

  readonly resolve: Resolve = (name, { family = 0 }, callback) => {
    const wanted = family === 'IPv4' ? 4 : family === 'IPv6' ? 6 : family;
    this.#find(name).then(
      (found) => {
        const fitting = wanted === 0 ? [...found] : found.filter((address) => address.family === wanted);
        if (fitting.length > 0) callback(null, fitting);
        else callback(failure('ENOTFOUND', name), []);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };

  #find(given: string): Promise<readonly LookupAddress[]> {
    const asked = given.toLowerCase();
    const name = asked.replace(/\.+$/, '');
    const known = this.#hosts.value.get(name);
    if (known) return Promise.resolve(known);
    if (name === 'localhost' || name.endsWith('.localhost')) return Promise.resolve(LOOPBACK);
    const underWay = this.#underWay.get(asked);
    if (underWay) return underWay;
    if (this.#underWay.size >= MAX_NAMES) return Promise.reject(failure('EAI_AGAIN', name));
    const search = this.#lookFor(asked).finally(() => this.#underWay.delete(asked));
    this.#underWay.set(asked, search);
    return search;
  }

  async #lookFor(name: string): Promise<readonly LookupAddress[]> {
    const over = new AbortController();
    const tooLate = this.#clock.sleep(DEADLINE_MS, over.signal).then(
      () => 'silent' as const,
      () => 'silent' as const,
    );
    try {
      const answer = await Promise.race([this.#askServers(name), tooLate]);
      if (answer === 'silent') throw failure('EAI_AGAIN', name);
      if (answer !== 'unknown') return answer;
      const found = await Promise.race([this.#askSystem(name, over.signal), tooLate]);
      if (found === 'silent') throw failure('EAI_AGAIN', name);
      return found;
    } finally {
      over.abort();
    }
  }

  /** Asks for each whole name in order; the first that is found counts. */
  async #askServers(given: string): Promise<Answer> {
    for (const name of wholeNames(given, this.#search.value)) {
      const answer = await this.#askForOne(name);
      if (answer !== 'unknown') return answer;
    }
    return 'unknown';
  }

  async #askForOne(name: string): Promise<Answer> {
    const resolver = this.#currentResolver();
    const ask = (question: Promise<string[]>, family: 4 | 6): Promise<Answer> =>
      question.then(
        (addresses) => addresses.map((address) => ({ address, family })),
        ({ code }: NodeJS.ErrnoException) => (code === 'ETIMEOUT' ? 'silent' : 'unknown'),
      );
    const questions = [ask(resolver.resolve4(name), 4), ask(resolver.resolve6(name), 6)];
    const first = await Promise.race(questions);
    // some name servers answer one family only
    const both = Promise.all(questions);
    const answers =
      typeof first === 'string' ? await both : await Promise.race([both, this.#patience([first])]);
    const found = answers.flatMap((answer) => (typeof answer === 'string' ? [] : answer));
    if (found.length > 0) return found;
    return answers.includes('silent') ? 'silent' : 'unknown';
  }

  async #patience(answers: Answer[]): Promise<Answer[]> {
    await this.#clock.sleep(OTHER_FAMILY_MS);
    return answers;
  }

  #currentResolver(): Resolver {
    const nowMs = this.#clock.monotonicMs();
    if (!this.#resolver || nowMs - this.#resolver.madeAtMs > SETTINGS_MS) {
      const resolver = new Resolver(QUESTION);
      if (this.#servers) resolver.setServers(this.#servers);
      this.#resolver = { resolver, madeAtMs: nowMs };
    }
    return this.#resolver.resolver;
  }

  async #askSystem(name: string, over: AbortSignal): Promise<readonly LookupAddress[]> {
    await this.#takeThread();
    if (over.aborted) {
      this.#giveThread();
      return []; // the deadline has passed, and nothing waits for this answer
    }
    return new Promise((resolve, reject) => {
      this.#system(name, { all: true }, (error, found) => {
        this.#giveThread();
        if (error) reject(error);
        else resolve(found);
      });
    });
  }

  #takeThread(): Promise<void> {
    if (this.#busyThreads >= MAX_THREADS) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#busyThreads++;
    return Promise.resolve();
  }

  /** Gives the thread to the name that waits longest. */
  #giveThread(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#busyThreads--;
  }
}

const LOOPBACK: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

function failure(code: 'ENOTFOUND' | 'EAI_AGAIN', name: string): NodeJS.ErrnoException {
  const why = code === 'ENOTFOUND' ? 'the name has no address' : 'no name server answered in time';
  return Object.assign(new Error(`resolving ${name} failed: ${why}`), { code, hostname: name });
}

/** Resolver of this process: its threads are shared by all. */
export const processNames = new NameResolver();
