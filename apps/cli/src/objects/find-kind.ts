import { discoverResources, type DiscoveredResource, type KubeClient, type Untyped } from '#lib/kube';
import { RESOURCES } from '#lib/resources';
import { CommandError } from '../command-error.js';

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
