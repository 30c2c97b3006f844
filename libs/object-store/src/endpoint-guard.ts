import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { type Reach, reachOf } from './address-reach.js';
import { EndpointRefusedError, ObjectStoreError } from './object-store-error.js';

/** Finds all addresses of a name: the machine's own resolver, or a test's. */
export type Resolve = (
  name: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

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

const NEVER = 'no object store can have this address';
const PRIVATE =
  'it is a private or loopback address; the operator of the platform can allow these for all destinations by setting ' +
  'AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS=true';

/**
 * Decides which addresses may be dialled. The endpoint of a destination is written by a tenant, who must not be able to
 * make this process talk to the platform's own network or to where the machine's credentials are.
 *
 * A name is resolved once for each connection, all its addresses are judged, and the connection goes to those very
 * addresses: a name that answers differently the next time (DNS rebinding) is judged again before it is dialled.
 */
export class EndpointGuard {
  readonly #allowPrivate: boolean;
  readonly #resolve: Resolve;

  constructor(allowPrivate: boolean, resolve: Resolve = lookup) {
    this.#allowPrivate = allowPrivate;
    this.#resolve = resolve;
  }

  /**
   * What can be said of a host without resolving it. Connections to literal addresses never ask `lookup`, so this must
   * be asked before each of them.
   * @param host without brackets, as the URL parser writes it
   * @throws EndpointRefusedError
   */
  checkHost(host: string): void {
    const refusal = isIP(host) === 0 ? this.#judgeName(host) : this.#judge(host);
    if (refusal) throw refusal;
  }

  /** For `net.connect` and the agents above it: answers only addresses that may be dialled. */
  readonly lookup: LookupFunction = (name, options, callback) => {
    const refusal = this.#judgeName(name);
    if (refusal) return callback(refusal, []);
    this.#resolve(name, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, []);
      const [first] = found;
      if (!first) return callback(new ObjectStoreError('ENOTFOUND', 'resolve the name of the endpoint'), []);
      for (const { address } of found) {
        // one forbidden address among good ones is no accident
        const refused = this.#judge(address);
        if (refused) return callback(refused, []);
      }
      if (options.all) return callback(null, found);
      callback(null, first.address, first.family);
    });
  };

  /**
   * For a host that a proxy will resolve: refused when this machine knows that it must not be dialled. What cannot be
   * resolved here is the proxy's to judge.
   */
  judgeForProxy(host: string, answer: (refusal: Error | undefined) => void): void {
    if (isIP(host) !== 0) return answer(this.#judge(host));
    this.lookup(host, { all: true }, (error) =>
      answer(error instanceof EndpointRefusedError ? error : undefined),
    );
  }

  #judgeName(name: string): EndpointRefusedError | undefined {
    const plain = name.toLowerCase().replace(/\.+$/, '');
    if (METADATA_NAMES.has(plain)) return refusalOf('never');
    const isLoopback = plain === 'localhost' || plain.endsWith('.localhost');
    return isLoopback && !this.#allowPrivate ? refusalOf('private') : undefined;
  }

  #judge(address: string): EndpointRefusedError | undefined {
    const reach = reachOf(address);
    return reach === 'private' && this.#allowPrivate ? undefined : refusalOf(reach);
  }
}

function refusalOf(reach: Reach): EndpointRefusedError | undefined {
  switch (reach) {
    case 'public':
      return undefined;
    case 'private':
      return new EndpointRefusedError('PrivateEndpoint', PRIVATE);
    case 'never':
      return new EndpointRefusedError('InvalidEndpoint', NEVER);
    default:
      return reach satisfies never;
  }
}
