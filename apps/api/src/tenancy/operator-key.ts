import { apiKeyHash, sameHash } from '#lib/auth';

/** Paths that the operator's key may use: it lists, creates and revokes the API keys of any workspace. */
const OPERATOR_PATHS = /^\/api\/v1\/api-key(\/|$)/;

/** The beginning of every operator key; no API key begins so. */
const OPERATOR_KEY_PREFIX = 'apo_';

/**
 * The credential of the operator of this installation. It belongs to no workspace: with the tenant in
 * `X-Tenant-Id` it manages API keys, so that the first key of a workspace can be made, and nothing else.
 */
export class OperatorKey {
  readonly #hash: Buffer;

  constructor(key: string) {
    this.#hash = apiKeyHash(key);
  }

  matches(key: string): boolean {
    return key.startsWith(OPERATOR_KEY_PREFIX) && sameHash(apiKeyHash(key), this.#hash);
  }

  mayCall(path: string): boolean {
    return OPERATOR_PATHS.test(path);
  }
}
