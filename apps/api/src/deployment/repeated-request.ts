import { createHash } from 'node:crypto';
import { PublicError } from '#lib/errors';
import { type AgentDeployment, ANNOTATION } from '#lib/resources';
import { parseIdempotencyKey } from '../wire/if-match.js';
import type { CreateDeploymentRequest } from './deployment-request.js';

function hashOf(...parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

/**
 * A request with the header `Idempotency-Key` that makes a deployment. Its annotations find the deployment
 * again. The body has secrets, so it is stored as a hash together with the key, which is stored in no place:
 * without the key, values cannot be guessed.
 */
export class RepeatedRequest {
  readonly annotations: Readonly<Record<string, string>>;

  private constructor(key: string, request: CreateDeploymentRequest) {
    this.annotations = {
      [ANNOTATION.requestKey]: hashOf(key),
      [ANNOTATION.requestHash]: hashOf(key, request),
    };
  }

  /** Undefined without the header. @throws PublicError invalid when it is no key */
  static of(header: string | undefined, request: CreateDeploymentRequest): RepeatedRequest | undefined {
    const key = parseIdempotencyKey(header);
    return key === undefined ? undefined : new RepeatedRequest(key, request);
  }

  /**
   * The deployment that an earlier request with this key made.
   * @throws PublicError conflict when that had another body
   */
  findIn(deployments: readonly AgentDeployment[]): AgentDeployment | undefined {
    const has = ({ metadata }: AgentDeployment, name: string): boolean =>
      metadata.annotations?.[name] === this.annotations[name];
    const found = deployments.find((one) => has(one, ANNOTATION.requestKey));
    if (!found || has(found, ANNOTATION.requestHash)) return found;
    throw new PublicError(
      'conflict',
      'The Idempotency-Key was used with another body; send the same body, or another key',
    );
  }
}
