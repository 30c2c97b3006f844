import {
  addAmounts,
  type Amounts,
  forbidden,
  formatQuantity,
  type KubeObject,
  listAt,
  numberAt,
  podRequests,
  recordAt,
  textAt,
} from '#lib/kube-semantics';
import { RESOURCES } from '#lib/resources';
import { isStepToEnd, lettersOf, type StoredChange } from './stored-object.js';

/** Name of the ResourceQuota that shows the limits of a namespace. */
export const QUOTA_NAME = 'agentplane';
/** Limits that no ResourceQuota of Kubernetes has. */
const LETTERS = `${RESOURCES.Workspace.group}/letters`;
const PORTS = `${RESOURCES.Workspace.group}/ports`;

/** Limits of a namespace and their present use, in the words of the status of a ResourceQuota. */
export interface QuotaUse {
  readonly hard: Readonly<Record<string, string>>;
  readonly used: Readonly<Record<string, string>>;
}

/** Limits of one namespace. */
export interface NamespaceQuota {
  readonly appliesTo: (namespace: string) => boolean;
  /** Objects of any one kind. */
  readonly objects: number;
  /** Limits lower than `objects`, by resource and group: `services`, `agentdeployments.agentplane.dev`. */
  readonly kinds: Readonly<Record<string, number>>;
  /** Letters of the JSON of all objects together. */
  readonly letters: number;
  /** Ports of Services and of containers, each of which takes a port of the machine. */
  readonly ports: number;
  /** Requests of all pods that have not ended together, by resource name; `pods` is their number. */
  readonly requests: Amounts;
  /** Advice on raising the limits, for messages. */
  readonly advice: string;
}

interface Usage {
  readonly counts: Map<string, number>;
  letters: number;
  ports: number;
  readonly requests: Map<string, bigint>;
}

/** Size that one change adds. */
interface Size {
  readonly letters: number;
  readonly ports: number;
  readonly requests: Amounts;
}

/** Existing objects may still report their status in a namespace that is full. */
const GROWTH = 1.25;
const NOTHING: Amounts = new Map();

/**
 * Usage of every namespace, and the refusal of a change that exceeds its limits. Only growth is refused:
 * objects over a limit that was lowered stay, and can be changed and deleted. Words are those of a
 * ResourceQuota.
 */
export class NamespaceUsage {
  readonly #namespaces = new Map<string, Usage>();

  constructor(private readonly quota: NamespaceQuota | undefined) {}

  /** @throws ApiError 403 */
  check(change: StoredChange): void {
    const quota = this.quota;
    if (!quota || change.type === 'DELETED' || !quota.appliesTo(change.namespace)) return;
    const used = this.#of(change.namespace);
    const isNew = change.type === 'ADDED';
    const { resource } = change;
    const added = sizeOf(change);
    if (isStepToEnd(change)) return;
    const slack = isNew ? 1 : GROWTH;
    const count = used.counts.get(resource) ?? 0;
    if (isNew) this.#require(change, `count/${resource}`, 1, count, limitOfKind(quota, resource));
    this.#require(change, LETTERS, added.letters, used.letters, Math.floor(quota.letters * slack));
    this.#require(change, PORTS, added.ports, used.ports, quota.ports);
    for (const [name, limit] of quota.requests)
      this.#requireRequest(change, name, added.requests.get(name) ?? 0n, limit);
  }

  /** Limits of a namespace and their use; undefined for one without limits. Kinds of which it has none are left out, unless they have a limit of their own. */
  limitsOf(namespace: string): QuotaUse | undefined {
    const quota = this.quota;
    if (!quota?.appliesTo(namespace)) return undefined;
    const used = this.#of(namespace);
    const kinds = [...new Set([...Object.keys(quota.kinds), ...used.counts.keys()])].sort();
    const rows: readonly (readonly [string, string, string])[] = [
      ...kinds.map((kind) => {
        const limit = limitOfKind(quota, kind);
        return [`count/${kind}`, String(limit), String(used.counts.get(kind) ?? 0)] as const;
      }),
      [LETTERS, String(quota.letters), String(used.letters)],
      [PORTS, String(quota.ports), String(used.ports)],
      ...[...quota.requests].map(
        ([name, limit]) =>
          [
            nameOfRequest(name),
            amountText(name, limit),
            amountText(name, used.requests.get(name) ?? 0n),
          ] as const,
      ),
    ];
    return {
      hard: Object.fromEntries(rows.map(([name, limit]) => [name, limit])),
      used: Object.fromEntries(rows.map(([name, , use]) => [name, use])),
    };
  }

  add(change: StoredChange): void {
    this.#count(change, 1);
  }

  /** Takes back a change that was not committed after all. */
  takeBack(change: StoredChange): void {
    this.#count(change, -1);
  }

  #count(change: StoredChange, sign: 1 | -1): void {
    if (!this.quota?.appliesTo(change.namespace)) return;
    const used = this.#of(change.namespace);
    const { letters, ports, requests } = sizeOf(change);
    used.letters += sign * letters;
    used.ports += sign * ports;
    addAmounts(used.requests, sign === 1 ? requests : negative(requests));
    const step = { ADDED: 1, MODIFIED: 0, DELETED: -1 }[change.type];
    used.counts.set(change.resource, (used.counts.get(change.resource) ?? 0) + sign * step);
  }

  #require(change: StoredChange, what: string, requested: number, used: number, limit: number): void {
    if (requested <= 0 || used + requested <= limit) return;
    this.#refuse(change, what, [requested, used, limit].map(String));
  }

  #requireRequest(change: StoredChange, name: string, requested: bigint, limit: bigint): void {
    const used = this.#of(change.namespace).requests.get(name) ?? 0n;
    if (requested <= 0n || used + requested <= limit) return;
    const texts = [requested, used, limit].map((nano) => amountText(name, nano));
    this.#refuse(change, nameOfRequest(name), texts);
  }

  #refuse(change: StoredChange, what: string, [requested, used, limit]: readonly string[]): never {
    const [resource = '', ...group] = change.resource.split('.');
    throw forbidden(
      { resource, group: group.join('.') },
      change.name,
      `exceeded quota: ${QUOTA_NAME}, requested: ${what}=${requested}, used: ${what}=${used}, ` +
        `limited: ${what}=${limit}; delete what is not needed, or raise the limit (${this.quota?.advice})`,
    );
  }

  #of(namespace: string): Usage {
    let usage = this.#namespaces.get(namespace);
    if (!usage) this.#namespaces.set(namespace, (usage = emptyUsage()));
    return usage;
  }
}

function limitOfKind({ kinds, objects }: NamespaceQuota, kind: string): number {
  return Math.min(kinds[kind] ?? objects, objects);
}

function nameOfRequest(name: string): string {
  return name === 'pods' ? name : `requests.${name}`;
}

function amountText(name: string, nano: bigint): string {
  return formatQuantity({ nano, format: name === 'memory' ? 'binary' : 'decimal' });
}

function emptyUsage(): Usage {
  return { counts: new Map(), letters: 0, ports: 0, requests: new Map() };
}

function sizeOf({ type, resource, after, before }: StoredChange): Size {
  const now = type === 'DELETED' ? undefined : after;
  const requests = new Map(now ? requestsOf(resource, now.object) : []);
  if (before) addAmounts(requests, negative(requestsOf(resource, before.object)));
  return {
    letters: (now ? lettersOf(now) : 0) - (before ? lettersOf(before) : 0),
    ports: (now ? portsOf(resource, now.object) : 0) - (before ? portsOf(resource, before.object) : 0),
    requests,
  };
}

function negative(amounts: Amounts): Amounts {
  return new Map([...amounts].map(([name, amount]) => [name, -amount]));
}

function requestsOf(resource: string, object: KubeObject): Amounts {
  return resource !== 'pods' || isEndedPod(object) ? NOTHING : podRequests(object);
}

function isEndedPod(object: KubeObject): boolean {
  return ['Succeeded', 'Failed'].includes(textAt(object, ['status', 'phase']));
}

function portsOf(resource: string, object: KubeObject): number {
  const spec = recordAt(object, 'spec');
  if (resource === 'services')
    return Object.keys(recordAt(spec, 'selector')).length === 0 ? 0 : listAt(spec, 'ports').length;
  if (resource !== 'pods' || isEndedPod(object)) return 0;
  const containers = [...listAt(spec, 'containers'), ...listAt(spec, 'initContainers')];
  const numbers = containers.flatMap((container) =>
    listAt(container, 'ports').map((port) => numberAt(port, ['containerPort'])),
  );
  return new Set(numbers).size;
}
