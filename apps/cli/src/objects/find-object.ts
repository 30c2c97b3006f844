import type { KubeClient, Untyped } from '#lib/kube';
import { idOf, isUuid, type ResourceRef } from '#lib/resources';
import { CommandError } from '../command-error.js';
import type { Kind } from './find-kind.js';

/** Parsed form of `KIND [NAME]` or `KIND/NAME`. */
export interface ObjectWords {
  readonly kind: string;
  readonly name: string | undefined;
}

/** @throws CommandError `usage` when the name is given twice */
export function parseObjectWords([first = '', second]: readonly string[]): ObjectWords {
  const [kind = '', name, ...rest] = first.split('/');
  if (kind === '' || name === '' || rest.length > 0 || (name !== undefined && second !== undefined))
    throw new CommandError('usage', `${first} ${second ?? ''} names no object: use KIND NAME or KIND/NAME`);
  return { kind, name: name ?? second };
}

/** `agentdeployment.GROUP/NAME`: an object by kind, group and name, as kubectl prints it. */
export function qualifiedName({ kind, group }: ResourceRef, name: string): string {
  return `${kind.toLowerCase()}.${group}/${name}`;
}

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
