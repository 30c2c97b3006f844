import type { KubeClient, Untyped } from '#lib/kube';
import { idOf, isUuid } from '#lib/resources';
import { CommandError } from '../command-error.js';
import type { Kind } from './find-kind.js';

/** Scope of a search for an object: one namespace, or all of them. */
export interface Place {
  readonly namespace: string | undefined;
}

/**
 * One object by its name, or by the id that the REST interface gives it.
 * @throws CommandError `notFound`
 */
export async function findObject(
  client: KubeClient,
  kind: Kind,
  name: string,
  { namespace }: Place,
): Promise<Untyped> {
  const found =
    (namespace === undefined && kind.namespaced
      ? undefined
      : await client.find<Untyped>(kind, { name, ...(kind.namespaced ? { namespace } : {}) })) ??
    (await searchList(client, kind, name, namespace));
  if (found) return found;
  const where = kind.namespaced && namespace !== undefined ? ` in namespace ${namespace}` : '';
  throw new CommandError(
    'notFound',
    `${kind.kind} ${name} does not exist${where}: "agentplane get ${kind.plural}" lists them`,
  );
}

async function searchList(
  client: KubeClient,
  kind: Kind,
  name: string,
  namespace: string | undefined,
): Promise<Untyped | undefined> {
  const isId = isUuid(name);
  if (!isId && namespace !== undefined) return undefined;
  const { items } = await client.list<Untyped>(kind, namespace === undefined ? {} : { namespace });
  const id = name.toLowerCase();
  return items.find((item) => (isId ? idOf(item) === id : item.metadata.name === name));
}
