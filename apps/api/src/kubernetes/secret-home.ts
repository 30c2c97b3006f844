import { Admission } from '#lib/admission';
import { type KubeClient, type Informers } from '#lib/kube';
import {
  type KubeObject,
  LABEL,
  MANAGED_BY,
  SECRET_TYPE,
  SECRETS,
  type AgentDeployment,
  type AgentRevision,
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  type Listener,
  RESOURCES,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import { ResourceHome, type RetryPause } from './resource-home.js';

/** Value of `LABEL.component` of Secrets that hold data of users. */
export type SecretPurpose = 'user-secrets' | 'destination-credentials' | 'webhook-secret';

const TYPES: Readonly<Record<SecretPurpose, string>> = {
  'user-secrets': 'Opaque',
  'destination-credentials': SECRET_TYPE.destinationCredentials,
  'webhook-secret': SECRET_TYPE.webhookSecret,
};

type Place = { readonly namespace: string; readonly name: string };

/** Secrets read at a time, less than the connections to the API server: others write over these too. */
const READS_AT_ONCE = 24;
/** Secrets that are made here do not change, but may be deleted. */
const KNOWN_FOR_MS = 30_000;
/** Secrets whose names are remembered; a memory of more begins anew. */
const MAX_KNOWN = 5_000;

/** Secrets with values that users sent. They go in, only names come out. */
export class SecretHome {
  /**
   * Limit of concurrent reads: a list asks for a hundred, and one namespace takes half of all reads at most.
   */
  readonly #turns = new Admission({ capacity: READS_AT_ONCE, halves: true });
  readonly #known = new Map<string, { readonly names: readonly string[]; readonly untilMs: number }>();

  constructor(
    private readonly client: Pick<KubeClient, 'create' | 'merge' | 'find' | 'delete'>,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  async create(
    place: Place,
    purpose: SecretPurpose,
    values: Readonly<Record<string, string>>,
    owner?: KubeObject,
  ): Promise<void> {
    const encoded = Object.entries(values).map(([key, value]) => [
      key,
      Buffer.from(value).toString('base64'),
    ]);
    await this.client.create(SECRETS, {
      metadata: {
        ...place,
        labels: { [LABEL.managedBy]: MANAGED_BY, [LABEL.component]: purpose },
        ...(owner ? { ownerReferences: [ownerReference(owner)] } : {}),
      },
      type: TYPES[purpose],
      immutable: true,
      data: Object.fromEntries(encoded) as Record<string, string>,
    });
  }

  /**
   * A Secret with the values of another one, which the object must own: they go from one to the other unseen.
   * @returns whether there is anything in it; without, nothing is made
   */
  async copy(from: Place & { readonly ownedBy: KubeObject }, to: Place, owner: KubeObject): Promise<boolean> {
    const secret = await this.client.find(SECRETS, { namespace: from.namespace, name: from.name });
    const isOwned = secret?.metadata.ownerReferences?.some(({ uid }) => uid === from.ownedBy.metadata.uid);
    const { data = {} } = secret ?? {};
    if (isOwned !== true || Object.keys(data).length === 0) return false;
    await this.client.create(SECRETS, {
      metadata: {
        ...to,
        labels: { [LABEL.managedBy]: MANAGED_BY, [LABEL.component]: 'user-secrets' satisfies SecretPurpose },
        ownerReferences: [ownerReference(owner)],
      },
      type: 'Opaque',
      immutable: true,
      data,
    });
    return true;
  }

  /** True when this program made the Secret of that name, or it does not exist. */
  async isOurs(place: Place, purpose: SecretPurpose): Promise<boolean> {
    const secret = await this.client.find(SECRETS, place);
    return !secret || secret.metadata.labels?.[LABEL.component] === purpose;
  }

  /** Its values, to make another one with them; no answer has any. */
  async values(place: Place): Promise<ReadonlyMap<string, string>> {
    const { data = {} } = (await this.client.find(SECRETS, place)) ?? {};
    return new Map(
      Object.entries(data).map(([name, value]) => [name, Buffer.from(value, 'base64').toString()]),
    );
  }

  /** The owner is made after the Secret that it names; from then on the Secret goes with it. */
  async adopt(place: Place, owner: KubeObject): Promise<void> {
    await this.client.merge(SECRETS, place, {
      metadata: { ownerReferences: [ownerReference(owner)] },
    });
  }

  async has(place: Place): Promise<boolean> {
    return (await this.#turns.run(place.namespace, () => this.client.find(SECRETS, place))) !== undefined;
  }

  /** Names of the Secret's entries; none when it does not exist. */
  async names(place: Place): Promise<readonly string[]> {
    const key = keyOf(place);
    const known = this.#known.get(key);
    if (known && known.untilMs > this.clock.monotonicMs()) return known.names;
    const secret = await this.#turns.run(place.namespace, () => this.client.find(SECRETS, place));
    const names = Object.keys(secret?.data ?? {}).sort();
    if (secret?.immutable === true) this.#remember(key, names);
    return names;
  }

  #remember(key: string, names: readonly string[]): void {
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(key, { names, untilMs: this.clock.monotonicMs() + KNOWN_FOR_MS });
  }

  /** Removes a Secret that this program made; one that a person keeps stays. */
  async deleteOurs(place: Place, purpose: SecretPurpose): Promise<void> {
    const secret = await this.client.find(SECRETS, place);
    if (secret?.metadata.labels?.[LABEL.component] === purpose) await this.delete(place);
  }

  async delete(place: Place): Promise<void> {
    this.#known.delete(keyOf(place));
    await this.client.delete(SECRETS, place);
  }
}

function keyOf({ namespace, name }: Place): string {
  return `${namespace}/${name}`;
}

function ownerReference(owner: KubeObject) {
  const { name, uid = '' } = owner.metadata;
  return { apiVersion: owner.apiVersion ?? '', kind: owner.kind ?? '', name, uid };
}

/** Resources of the interface, for reads and changes, kind by kind. */
export interface Homes {
  readonly deployments: ResourceHome<AgentDeployment>;
  readonly revisions: ResourceHome<AgentRevision>;
  readonly listeners: ResourceHome<Listener>;
  readonly destinations: ResourceHome<BulkExportDestination>;
  readonly exports: ResourceHome<BulkExport>;
  readonly runs: ResourceHome<BulkExportRun>;
  readonly secrets: SecretHome;
}

/** @param informers not started yet: each home follows its kind */
export function openHomes(
  client: KubeClient,
  informers: Informers,
  pause: RetryPause & { readonly clock: Pick<Clock, 'monotonicMs'> },
): Homes {
  return {
    deployments: new ResourceHome(client, informers.of(RESOURCES.AgentDeployment), pause),
    revisions: new ResourceHome(client, informers.of(RESOURCES.AgentRevision), pause),
    listeners: new ResourceHome(client, informers.of(RESOURCES.Listener), pause),
    destinations: new ResourceHome(client, informers.of(RESOURCES.BulkExportDestination), pause),
    exports: new ResourceHome(client, informers.of(RESOURCES.BulkExport), pause),
    runs: new ResourceHome(client, informers.of(RESOURCES.BulkExportRun), pause),
    secrets: new SecretHome(client, pause.clock),
  };
}
