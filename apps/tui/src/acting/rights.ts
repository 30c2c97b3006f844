import type { KubeClient } from '#lib/kube';
import type { Clock } from '#lib/time';
import type { Right } from '../views/row-action.js';

/** Time for which an answer holds. */
const KEPT_MS = 60_000;

interface Known {
  readonly untilMs: number;
  readonly answer: Promise<boolean>;
  /** Undefined until it has come. */
  isAllowed: boolean | undefined;
}

/**
 * Rights of the account, asked with SelfSubjectAccessReviews, each once a minute. A review that fails counts
 * as allowed: the API server decides again when the action is performed.
 */
export class Rights {
  readonly #client: Pick<KubeClient, 'raw'>;
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();

  constructor(client: Pick<KubeClient, 'raw'>, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** True when it is known to be refused; asks when it is not known. */
  isDenied(right: Right, namespace: string | undefined): boolean {
    return this.#review(right, namespace).isAllowed === false;
  }

  async isAllowed(right: Right, namespace: string | undefined): Promise<boolean> {
    return await this.#review(right, namespace).answer;
  }

  #review(right: Right, namespace: string | undefined): Known {
    const { verb, ref, subresource = '' } = right;
    const key = [verb, ref.group, ref.plural, subresource, namespace ?? ''].join('|');
    const nowMs = this.#clock.monotonicMs();
    const found = this.#known.get(key);
    if (found && nowMs < found.untilMs) return found;
    const known: Known = {
      untilMs: nowMs + KEPT_MS,
      answer: this.#ask(right, namespace).then((isAllowed) => {
        known.isAllowed = isAllowed;
        return isAllowed;
      }),
      isAllowed: found?.isAllowed,
    };
    this.#known.set(key, known);
    return known;
  }

  async #ask({ verb, ref, subresource }: Right, namespace: string | undefined): Promise<boolean> {
    const resourceAttributes = {
      verb,
      group: ref.group,
      resource: ref.plural,
      ...(namespace === undefined ? {} : { namespace }),
      ...(subresource === undefined ? {} : { subresource }),
    };
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    };
    try {
      const answer = await this.#client.raw(
        'POST',
        '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        {
          body,
        },
      );
      return (answer as { readonly status?: { readonly allowed?: boolean } }).status?.allowed !== false;
    } catch {
      return true;
    }
  }
}
