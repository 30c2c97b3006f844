import type { KubeClient } from '#lib/kube';
import type { KubeObject, ResourceRef } from '#lib/resources';

/** What watches saw of one kind: when an object was first there, and the newest of each. */
export class SeenObjects<T extends KubeObject> {
  readonly firstMs = new Map<string, number>();
  readonly newest = new Map<string, T>();
  readonly #abort = new AbortController();

  /** Follows from now on: what is there already is not seen. */
  static async from<T extends KubeObject>(client: KubeClient, ref: ResourceRef<T>): Promise<SeenObjects<T>> {
    const seen = new SeenObjects<T>();
    const { resourceVersion } = await client.list(ref);
    void seen.#follow(client, ref, resourceVersion);
    return seen;
  }

  stop(): void {
    this.#abort.abort();
  }

  async #follow(client: KubeClient, ref: ResourceRef<T>, from: string): Promise<void> {
    const { signal } = this.#abort;
    let resourceVersion = from;
    while (!signal.aborted)
      for await (const event of client.watch(ref, { resourceVersion, signal })) {
        if (event.type === 'BOOKMARK') {
          resourceVersion = event.resourceVersion;
          continue;
        }
        const { metadata } = event.object;
        const key = `${metadata.namespace ?? ''}/${metadata.name}`;
        resourceVersion = metadata.resourceVersion ?? resourceVersion;
        if (!this.firstMs.has(key)) this.firstMs.set(key, performance.now());
        if (event.type === 'DELETED') this.newest.delete(key);
        else this.newest.set(key, event.object);
      }
  }
}
