import type { LookupAddress, LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { type Reach, reachOf } from './address-reach.js';
import { processNames, type Resolve } from './name-resolver.js';

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
