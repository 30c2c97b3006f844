import { isConflict, type Draft, type Informer, type KubeClient } from '#lib/kube';
import type { Clock } from '#lib/time';
import { idOf, type KubeObject, type ObjectKey, type ResourceRef } from '#lib/resources';

/** The name of the index over ids of the wire. */
const ID_INDEX = 'id';

const ATTEMPTS = 20;

/** Milliseconds, times the number of tries so far: spreads out requests that change one object at once. */
const LONGEST_PAUSE_MS = 5;

/** Parts of a pause between two tries. */
export interface RetryPause {
  readonly clock: Pick<Clock, 'sleep'>;
  /** Random number from 0 to 1. */
  readonly random: () => number;
}

/** The keys under which an object is found by its id. */
function idsOf(object: KubeObject): readonly string[] {
  return [idOf(object) ?? ''];
}

/**
 * One kind of resource, found by the id of the wire. Reads come from the informer; a write returns only when the
 * informer has seen it, so that the next read of the same caller finds it.
 */
export class ResourceHome<T extends KubeObject> {
  readonly #ref: ResourceRef<T>;

  constructor(
    private readonly client: KubeClient,
    private readonly informer: Informer<T>,
    private readonly pause: RetryPause,
  ) {
    this.#ref = informer.ref;
    informer.addIndex(ID_INDEX, idsOf);
  }

  /**
   * The object of an id; undefined also for an id in another namespace. If two have one id (a copied
   * manifest), it is the older one.
   */
  find(namespace: string, id: string): T | undefined {
    return this.informer
      .byIndex(ID_INDEX, id)
      .filter((object) => object.metadata.namespace === namespace)
      .sort(byAge)[0];
  }

  findByName(namespace: string, name: string): T | undefined {
    return this.informer.find({ namespace, name });
  }

  /** Objects of a namespace that match, in any order. */
  filter(namespace: string, isWanted: (object: T) => boolean): T[] {
    return this.informer.list(namespace).filter(isWanted);
  }

  /** Newest first. */
  list(namespace: string): T[] {
    return this.informer.list(namespace).sort((a, b) => byAge(b, a));
  }

  /** Judges a draft by all rules of the API server without writing it. */
  async dryRun(draft: Draft<NoInfer<T>>): Promise<void> {
    await this.client.create(this.#ref, draft, { dryRun: true, isStrict: true });
  }

  async create(draft: Draft<NoInfer<T>>): Promise<T> {
    return this.#seen(await this.client.create(this.#ref, draft, { isStrict: true }));
  }

  /**
   * The object as the API server has it at this moment, which the informer may not have seen yet.
   * @throws when it does not exist
   */
  async getNewest(key: ObjectKey): Promise<T> {
    return this.#seen(await this.client.get(this.#ref, key));
  }

  /** Reads, changes and writes, again after each conflict. */
  async change(key: ObjectKey, change: (object: T) => T): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const object = await this.client.get(this.#ref, key);
      try {
        return await this.#seen(await this.client.replace(this.#ref, change(object), { isStrict: true }));
      } catch (error) {
        if (!isConflict(error) || attempt === ATTEMPTS) throw error;
        const { clock, random } = this.pause;
        await clock.sleep(random() * LONGEST_PAUSE_MS * attempt);
      }
    }
  }

  /**
   * Requests a deletion; returns when the informer knows of it.
   * @param judge throws for an object that must stay; exactly the version that it has judged is deleted
   */
  async delete(object: T, judge?: (object: T) => void): Promise<void> {
    const { name, namespace = '', uid, resourceVersion } = object.metadata;
    const key = { name, namespace };
    if (judge) await this.#deleteJudged(key, judge);
    else await this.client.delete(this.#ref, key, uid === undefined ? {} : { uid });
    const left = await this.client.find(this.#ref, key);
    const version = left?.metadata.resourceVersion;
    if (version !== undefined && version !== resourceVersion)
      await this.informer.waitFor(version).catch(() => undefined);
  }

  async #deleteJudged(key: ObjectKey, judge: (object: T) => void): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const object = await this.client.find(this.#ref, key);
      if (!object) return;
      judge(object);
      const { uid = '', resourceVersion = '' } = object.metadata;
      try {
        await this.client.delete(this.#ref, key, { uid, resourceVersion });
        return;
      } catch (error) {
        if (!isConflict(error) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #seen(object: T): Promise<T> {
    // an informer that lags is no reason to fail a write that is done
    await this.informer.waitFor(object.metadata.resourceVersion ?? '').catch(() => undefined);
    return object;
  }
}

function byAge(a: KubeObject, b: KubeObject): number {
  const [older, younger] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  if (older !== younger) return older < younger ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
