import { createHash, randomBytes } from 'node:crypto';
import { applyManaged, type KubeClient } from '#lib/kube';
import { buildListenerKey, LISTENER_KEY } from '#lib/manifests';
import { type Listener, listenerKeyName, RESOURCES, type Secret, SECRETS } from '#lib/resources';
import type { Clock } from '#lib/time';
import { requireOwned } from '../agent-deployment/require-owned.js';
import { secretValue } from '../agent-deployment/secret-value.js';

/** Secrets cannot be watched, and a Listener is reconciled at each heartbeat: one that was deleted is missed this late. */
const LOOK_MS = 60_000;

interface Known {
  readonly mark: string;
  readonly lookAtMs: number;
}

/**
 * The keys of Listeners, each in a Secret: made once, and again where it was deleted, which is how an operator replaces a
 * key. The pods of the listener, and those of deployments with a `minScale` of 0 that run, are replaced then.
 */
export class ListenerKeys {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Makes the key of a Listener unless it exists.
   * @returns a text that distinguishes it from another key, and reveals nothing of it
   * @throws WaitingError while the Secret of a former Listener is deleted, TerminalError `NotOurs` for one of another owner
   */
  async ensure(listener: Listener): Promise<string> {
    const { uid = '' } = listener.metadata;
    const nowMs = this.#clock.monotonicMs();
    const known = this.#known.get(uid);
    if (known && nowMs < known.lookAtMs) return known.mark;
    const { name, namespace = '' } = listener.metadata;
    const found = await this.#client.find(SECRETS, { namespace, name: listenerKeyName(name) });
    const existing = found && requireOwned(found, listener);
    const key = secretValue(existing, LISTENER_KEY) ?? (await this.#make(listener, existing));
    const mark = createHash('sha256').update(`mark of ${key}`).digest('hex').slice(0, 16);
    this.#known.set(uid, { mark, lookAtMs: nowMs + LOOK_MS });
    return mark;
  }

  /** @param uids uids of the Listeners that exist */
  keep(uids: ReadonlySet<string>): void {
    for (const uid of this.#known.keys()) if (!uids.has(uid)) this.#known.delete(uid);
  }

  async #make(listener: Listener, existing: Secret | undefined): Promise<string> {
    const key = randomBytes(32).toString('hex');
    await applyManaged(
      this.#client,
      { kind: 'reference', ref: RESOURCES.Listener, object: listener },
      { ref: SECRETS, desired: buildListenerKey(listener, key), existing },
    );
    return key;
  }
}
