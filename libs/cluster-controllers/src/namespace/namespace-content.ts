import { errorText } from '#lib/errors';
import { isNotFound, type DiscoveredResource, type KubeClient } from '#lib/kube';
import { keyOf, type KubeObject } from '#lib/resources';

/** Limit per look. */
const MAX_PROBLEMS = 25;

/** Remaining content of a namespace that is being deleted. */
export interface Remaining {
  /** `pods.` or `widgets.example.com` → number. */
  readonly resources: ReadonlyMap<string, number>;
  /** Finalizer → number of objects that it keeps. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Failures of listing and deleting, in words. */
  readonly problems: readonly string[];
}

/** Asks for the deletion of everything in a namespace, kind by kind, and says what is still there. */
export async function deleteContent(
  client: KubeClient,
  resources: readonly DiscoveredResource[],
  namespace: string,
): Promise<Remaining> {
  const left = new Map<string, number>();
  const finalizers = new Map<string, number>();
  const problems: string[] = [];
  for (const ref of resources) {
    if (!ref.namespaced || !ref.verbs.includes('list') || !ref.verbs.includes('delete')) continue;
    try {
      const { items } = await client.list<KubeObject>(ref, { namespace, metadataOnly: true });
      let remaining = 0;
      for (const object of items)
        try {
          if (await isLeft(client, ref, object)) remaining++;
        } catch (error) {
          if (isNotFound(error)) continue;
          // one that cannot be deleted keeps none of the others
          remaining++;
          if (problems.length < MAX_PROBLEMS) problems.push(errorText(error));
        }
      if (remaining > 0) left.set(`${ref.plural}.${ref.group}`, remaining);
      for (const name of items.flatMap(({ metadata }) => metadata.finalizers ?? []))
        finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
    } catch (error) {
      // the kind went away meanwhile, and its objects with it
      if (!isNotFound(error)) problems.push(errorText(error));
    }
  }
  return { resources: left, finalizers, problems };
}

/** Deletes an object; whether it is still there afterwards. */
async function isLeft(client: KubeClient, ref: DiscoveredResource, object: KubeObject): Promise<boolean> {
  const { uid, deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp !== undefined) return true;
  await client.delete(ref, keyOf(object), uid === undefined ? {} : { uid });
  return ref.plural === 'pods' || finalizers.length > 0;
}
