import { type DiscoveredResource, discoverResources, type KubeClient, type Untyped } from '#lib/kube';
import { idOf, isUuid, type ResourceRef, RESOURCES } from '#lib/resources';
import { CommandError } from '../command-error.js';

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

/** A kind whose objects are read as they come, without a type of their own. */
export interface Kind extends DiscoveredResource {
  readonly object?: Untyped;
}

const OWN_GROUP = RESOURCES.AgentDeployment.group;

/** Words of people and of the dashboard's views; singular words mean the same. `deployments.apps` are those of Kubernetes. */
const SPOKEN: ReadonlyMap<string, string> = new Map([
  ['agents', 'agentdeployments'],
  ['days', 'bulkexportruns'],
  ['deploy', 'agentdeployments'],
  ['deployments', 'agentdeployments'],
  ['destinations', 'bulkexportdestinations'],
  ['exports', 'bulkexports'],
  ['revisions', 'agentrevisions'],
  ['runs', 'bulkexportruns'],
]);

/** The plural of the kind that a word of people means, in any case. */
export function spokenKind(word: string): string | undefined {
  const spoken = word.toLowerCase();
  return SPOKEN.get(spoken) ?? SPOKEN.get(`${spoken}s`);
}

/** Kinds of our own come first, then those of Kubernetes itself: a short name may belong to several groups. */
function rank({ group }: DiscoveredResource): number {
  if (group === OWN_GROUP) return 0;
  return group === '' ? 1 : 2;
}

function namesOf({ plural, singular, kind, shortNames }: DiscoveredResource): readonly string[] {
  return [plural, singular, kind.toLowerCase(), ...shortNames];
}

/**
 * The kind that a word means: its plural, singular or short name or the kind itself, in any case, with or without its
 * group (`bx`, `BulkExport`, `deployments.apps`).
 * @throws CommandError `usage` when the API server serves no such kind
 */
export async function findKind(client: KubeClient, word: string): Promise<Kind> {
  return pickKind(client, await discoverResources(client), word);
}

/** The same for several words. */
export async function findKinds(client: KubeClient, words: readonly string[]): Promise<readonly Kind[]> {
  const served = await discoverResources(client);
  return words.map((word) => pickKind(client, served, word));
}

function pickKind(client: KubeClient, served: readonly DiscoveredResource[], word: string): Kind {
  const spoken = spokenKind(word);
  const found = (spoken && servedAs(served, spoken)) ?? servedAs(served, word);
  if (found) return { ...found, object: undefined };
  const own = served
    .filter((kind) => kind.group === OWN_GROUP)
    .map(({ plural, shortNames: [short] }) => (short === undefined ? plural : `${plural} (${short})`));
  throw new CommandError(
    'usage',
    `kind ${word} is not served by ${client.connection.server}: served are ${own.sort().join(', ')}, pods and the other kinds of Kubernetes`,
  );
}

function servedAs(served: readonly DiscoveredResource[], word = ''): DiscoveredResource | undefined {
  const [name = '', ...group] = word.toLowerCase().split('.');
  return served
    .filter((kind) => namesOf(kind).includes(name) && (group.length === 0 || kind.group === group.join('.')))
    .sort((a, b) => rank(a) - rank(b))[0];
}
