import { errorText } from '#lib/errors';
import { isJsonObject } from '#lib/json';
import { type BuiltinKind, builtinKinds, type ResourceType, type ScalePaths } from '#lib/kube-semantics';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { ObjectStore } from '../store/object-store.js';
import type { StoredObject } from '../store/stored-object.js';

const LIFETIME_MS = 60 * 60_000;
const SWEEP_MS = 60_000;

/** Removes Events an hour after they were last written: they are news, not history. */
export class EventExpiry {
  /** Times of last writes: each event is parsed once for them, not at every sweep. */
  readonly #written = new WeakMap<StoredObject, number>();
  #cancel: (() => void) | undefined;

  constructor(
    private readonly store: ObjectStore,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    this.#plan();
  }

  stop(): void {
    this.#cancel?.();
  }

  #plan(): void {
    this.#cancel = this.clock.after(SWEEP_MS, () => {
      this.#plan();
      void this.sweep().catch((error: unknown) => {
        this.log.warn({ error: errorText(error) }, 'removing expired events failed, retrying later');
      });
    });
  }

  /** Removes what is old now. */
  async sweep(): Promise<void> {
    const before = this.clock.now().getTime() - LIFETIME_MS;
    const old = this.store.list('events').filter((event) => this.#writtenMs(event) < before);
    for (const { object } of old) {
      const { namespace = '', name = '' } = object.metadata;
      await this.store.change({ resource: 'events', namespace, name }, (current) =>
        current && this.#writtenMs(current) < before
          ? { kind: 'delete', object: current.object }
          : { kind: 'keep' },
      );
    }
  }

  #writtenMs(event: StoredObject): number {
    const writtenMs = this.#written.get(event) ?? lastWritten(event.object);
    this.#written.set(event, writtenMs);
    return writtenMs;
  }
}

function lastWritten({
  metadata,
}: {
  readonly metadata: {
    readonly creationTimestamp?: string | null;
    readonly managedFields?: readonly unknown[];
  };
}): number {
  const times = (metadata.managedFields ?? []).map((entry) =>
    isJsonObject(entry) ? String(entry.time) : '',
  );
  return Math.max(...[metadata.creationTimestamp ?? '', ...times].map((time) => Date.parse(time) || 0));
}

const WORKLOAD_SCALE: ScalePaths = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.spec.selector',
};

const DEPRECATED: Readonly<Record<string, string>> = {
  Endpoints: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
};

/** Kinds that nothing on one machine acts on, and what does instead. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  StatefulSet: 'no controller makes its pods',
  HorizontalPodAutoscaler: 'no controller changes the number of pods',
  PodDisruptionBudget: 'pods are evicted without it',
  NetworkPolicy: 'the network of the machine is open',
  ResourceQuota: 'the limits of a workspace are settings of the platform',
  LimitRange: 'pods keep the requests and limits that they have',
  PriorityClass: 'pods are placed in the order in which they came',
  StorageClass: 'volumes are not provisioned',
  PodTemplate: 'no controller makes pods of it',
};

/** The resource types that the server brings by itself, in the order of discovery. */
export function builtinTypes(): readonly ResourceType[] {
  return builtinKinds.map(typeOf);
}

function typeOf(kind: BuiltinKind): ResourceType {
  return {
    group: kind.group,
    resource: kind.plural,
    singular: kind.singular,
    kind: kind.kind,
    listKind: kind.listKind,
    namespaced: kind.namespaced,
    shortNames: kind.shortNames,
    categories: kind.categories,
    isCustom: false,
    nameRule: kind.nameRule,
    hasGeneration: kind.hasGeneration,
    storageVersion: kind.version,
    ...(kind.group === 'events.k8s.io' ? { storageGroup: '' } : {}),
    ...noEffectOf(kind.kind),
    versions: [
      {
        name: kind.version,
        rules: {
          schema: kind.schema,
          hasExpressions: false,
          applyDefaults: (object) => kind.applyDefaults(object),
          prepareForCreate: (object) => kind.prepareForCreate(object),
          validate: (object, old) => kind.validate(object, old),
        },
        hasStatus: kind.subresources.includes('status'),
        ...(kind.subresources.includes('scale') ? { scale: WORKLOAD_SCALE } : {}),
        columns: [],
        selectableFields: [],
        ...(DEPRECATED[kind.kind] ? { deprecation: DEPRECATED[kind.kind] } : {}),
      },
    ],
  };
}

function noEffectOf(kind: string): Pick<ResourceType, 'noEffect'> {
  const why = WITHOUT_EFFECT[kind];
  return why === undefined ? {} : { noEffect: `${kind} has no effect on one machine: ${why}` };
}
