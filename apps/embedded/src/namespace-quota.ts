import type { NamespaceQuota } from '#lib/embedded-kube';
import { type ResourceRef, RESOURCES } from '#lib/resources';

const nameOf = ({ plural, group }: Pick<ResourceRef, 'plural' | 'group'>): string => `${plural}.${group}`;

/** What one workspace may hold of one machine, so that no tenant takes all of it. Far above what people need. */
const DEFAULT_QUOTA: Readonly<Record<string, number>> = {
  objects: 20_000,
  megabytes: 32,
  // of the 10,000 that the machine has for Services and pods
  ports: 500,
  pods: 500,
  // each has a database, and pods in turn
  [nameOf(RESOURCES.AgentDeployment)]: 200,
  [nameOf(RESOURCES.Listener)]: 20,
  // each is written to when it changes, and while it is refused
  [nameOf(RESOURCES.BulkExportDestination)]: 200,
  [nameOf(RESOURCES.BulkExport)]: 2_000,
};

const ADVICE = 'AGENTPLANE_NAMESPACE_QUOTA of the platform';
const OWN_WORDS = new Set(['objects', 'megabytes', 'ports']);

/**
 * The limits of every workspace's namespace; the platform's own has none.
 * @param words NAME=NUMBER, in place of the defaults of these names
 * @throws Error for a word that is none
 */
export function parseQuota(words: readonly string[]): NamespaceQuota {
  const limits = { ...DEFAULT_QUOTA, ...Object.fromEntries(words.map(parseWord)) };
  const { objects = 0, megabytes = 0, ports = 0 } = limits;
  return {
    appliesTo: (namespace) => namespace.startsWith('ws-'),
    ...{ objects, ports, letters: megabytes * 1024 * 1024, advice: ADVICE },
    kinds: Object.fromEntries(Object.entries(limits).filter(([name]) => !OWN_WORDS.has(name))),
  };
}

function parseWord(word: string): readonly [string, number] {
  const [, name = '', number = ''] = /^([a-z0-9.-]+)=(\d{1,9})$/.exec(word) ?? [];
  if (name === '')
    throw new Error(
      `AGENTPLANE_NAMESPACE_QUOTA: ${JSON.stringify(word)} is no limit; ` +
        'write objects=NUMBER, megabytes=NUMBER, ports=NUMBER, or PLURAL.GROUP=NUMBER of a kind, with commas between',
    );
  return [name, Number(number)];
}
