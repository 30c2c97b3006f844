import { forbidden, type KubeObject, listAt, numberAt, recordAt, textAt } from '#lib/kube-semantics';
import type { StoredChange } from './stored-object.js';

/** How much one namespace may hold. */
export interface NamespaceQuota {
  readonly appliesTo: (namespace: string) => boolean;
  /** Objects of any one kind. */
  readonly objects: number;
  /** Fewer than `objects`, by resource and group: `services`, `agentdeployments.agentplane.dev`. */
  readonly kinds: Readonly<Record<string, number>>;
  /** Letters of the JSON of all objects together. */
  readonly letters: number;
  /** Ports of Services and of containers, each of which takes a port of the machine. */
  readonly ports: number;
  /** How the limits are raised, for messages. */
  readonly advice: string;
}

interface Usage {
  readonly counts: Map<string, number>;
  letters: number;
  ports: number;
}

/** What exists may still report its status in a namespace that is full. */
const GROWTH = 1.25;

/**
 * What every namespace holds, and the refusal of a change that makes it more than it may. Only growth is refused: what
 * is over a limit that was lowered stays, and can be changed and deleted. Words are those of a ResourceQuota.
 */
export class NamespaceUsage {
  readonly #quota: NamespaceQuota | undefined;
  readonly #namespaces = new Map<string, Usage>();

  constructor(quota: NamespaceQuota | undefined) {
    this.#quota = quota;
  }

  /** @throws ApiError 403 */
  check(change: StoredChange): void {
    const quota = this.#quota;
    if (!quota || change.type === 'DELETED' || !quota.appliesTo(change.namespace)) return;
    const used = this.#of(change.namespace);
    const isNew = change.type === 'ADDED';
    const { resource } = change;
    const added = sizeOf(change);
    const slack = isNew ? 1 : GROWTH;
    const most = Math.min(quota.kinds[resource] ?? quota.objects, quota.objects);
    if (isNew) this.#require(change, `count/${resource}`, 1, used.counts.get(resource) ?? 0, most);
    this.#require(change, 'letters', added.letters, used.letters, Math.floor(quota.letters * slack));
    this.#require(change, 'ports', added.ports, used.ports, quota.ports);
  }

  add(change: StoredChange): void {
    this.#count(change, 1);
  }

  /** Of a change that was not committed after all. */
  takeBack(change: StoredChange): void {
    this.#count(change, -1);
  }

  #count(change: StoredChange, sign: 1 | -1): void {
    if (!this.#quota?.appliesTo(change.namespace)) return;
    const used = this.#of(change.namespace);
    const { letters, ports } = sizeOf(change);
    used.letters += sign * letters;
    used.ports += sign * ports;
    const step = { ADDED: 1, MODIFIED: 0, DELETED: -1 }[change.type];
    used.counts.set(change.resource, (used.counts.get(change.resource) ?? 0) + sign * step);
  }

  #require(change: StoredChange, what: string, requested: number, used: number, limit: number): void {
    if (requested <= 0 || used + requested <= limit) return;
    const [resource = '', ...group] = change.resource.split('.');
    throw forbidden(
      { resource, group: group.join('.') },
      change.name,
      `exceeded quota: agentplane, requested: ${what}=${requested}, used: ${what}=${used}, ` +
        `limited: ${what}=${limit}; delete what is not needed, or raise the limit (${this.#quota?.advice})`,
    );
  }

  #of(namespace: string): Usage {
    let usage = this.#namespaces.get(namespace);
    if (!usage) this.#namespaces.set(namespace, (usage = { counts: new Map(), letters: 0, ports: 0 }));
    return usage;
  }
}

/** What a change adds. */
function sizeOf({ type, resource, after, before }: StoredChange): { letters: number; ports: number } {
  const isGone = type === 'DELETED';
  return {
    letters: (isGone ? 0 : after.json.length) - (before?.json.length ?? 0),
    ports: (isGone ? 0 : portsOf(resource, after.object)) - (before ? portsOf(resource, before.object) : 0),
  };
}

function portsOf(resource: string, object: KubeObject): number {
  const spec = recordAt(object, 'spec');
  if (resource === 'services')
    return Object.keys(recordAt(spec, 'selector')).length === 0 ? 0 : listAt(spec, 'ports').length;
  if (resource !== 'pods' || ['Succeeded', 'Failed'].includes(textAt(object, ['status', 'phase']))) return 0;
  const containers = [...listAt(spec, 'containers'), ...listAt(spec, 'initContainers')];
  const numbers = containers.flatMap((container) =>
    listAt(container, 'ports').map((port) => numberAt(port, ['containerPort'])),
  );
  return new Set(numbers).size;
}
