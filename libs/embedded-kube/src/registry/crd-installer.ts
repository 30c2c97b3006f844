import { errorText } from '#lib/errors';
import {
  ApiError,
  compileSchema,
  type KubeObject,
  qualified,
  type ResourceType,
  withMetadata,
} from '#lib/kube-semantics';
import type { Logger } from '#lib/telemetry';
import type { ObjectStore } from '../store/object-store.js';
import type { StoredChange } from '../store/stored-object.js';
import { CRD_FINALIZER } from './crd-status.js';
import { typeOfCrd } from './crd-type.js';
import type { ObjectService } from './object-service.js';
import type { TypeRegistry } from './type-registry.js';

interface AbsentNames {
  readonly group: string;
  readonly kind: string;
  readonly resource: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
}

const ABSENT: readonly AbsentNames[] = [
  absent('', 'PersistentVolumeClaim', 'persistentvolumeclaims', ['pvc']),
  { ...absent('', 'PersistentVolume', 'persistentvolumes', ['pv']), namespaced: false },
  absent('', 'ReplicationController', 'replicationcontrollers', ['rc']),
  absent('apps', 'DaemonSet', 'daemonsets', ['ds']),
  absent('batch', 'CronJob', 'cronjobs', ['cj']),
  absent('networking.k8s.io', 'Ingress', 'ingresses', ['ing']),
];

function absent(group: string, kind: string, resource: string, shortNames: readonly string[]): AbsentNames {
  return { group, kind, resource, shortNames, namespaced: true };
}

/**
 * Kinds of which there are none here and none can be made, for nothing would act on them. They can be listed, since
 * clients take for granted that every cluster knows them: `kubectl apply --prune` looks through all of them.
 */
export function absentTypes(): readonly ResourceType[] {
  return ABSENT.map(typeOf);
}

function typeOf({ group, kind, resource, shortNames, namespaced }: AbsentNames): ResourceType {
  const same = <T>(object: T): T => object;
  return {
    group,
    resource,
    singular: kind.toLowerCase(),
    kind,
    listKind: `${kind}List`,
    namespaced,
    shortNames,
    categories: [],
    isCustom: false,
    isAbsent: true,
    nameRule: 'dns-subdomain',
    hasGeneration: false,
    storageVersion: 'v1',
    versions: [
      {
        name: 'v1',
        rules: {
          schema: compileSchema({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }),
          hasExpressions: false,
          applyDefaults: same,
          prepareForCreate: same,
          validate: () => [],
        },
        hasStatus: false,
        columns: [],
        selectableFields: [],
      },
    ],
  };
}

const CRDS = 'customresourcedefinitions.apiextensions.k8s.io';
const MANAGER = 'kube-apiserver';

export interface CrdInstallerParts {
  readonly store: ObjectStore;
  readonly types: TypeRegistry;
  readonly objects: ObjectService;
  readonly log: Logger;
}

/**
 * Serves the kinds of CustomResourceDefinitions: from its commit until its deletion. A definition that
 * is deleted waits (by a finalizer) until its objects are deleted, and theirs may take time; each change of them is
 * looked at again.
 */
export class CrdInstaller {
  /** Built-in types, which no definition can replace and no deletion of one can remove. */
  readonly #builtin: ReadonlySet<string>;

  constructor(private readonly parts: CrdInstallerParts) {
    this.#builtin = new Set(parts.types.list().map(qualified));
    for (const { object } of parts.store.list(CRDS)) this.#install(object);
    parts.store.subscribe((change) => this.#observe(change));
  }

  #observe(change: StoredChange): void {
    if (change.resource === CRDS) {
      if (change.type !== 'DELETED') this.#install(change.after.object);
      else if (!this.#builtin.has(change.name)) this.parts.types.remove(change.name);
    } else if (change.type === 'DELETED') {
      const crd = this.parts.store.get({ resource: CRDS, namespace: '', name: change.resource });
      if (crd && crd.object.metadata.deletionTimestamp !== undefined) this.#cleanUp(crd.object);
    }
  }

  #install(crd: KubeObject): void {
    const { types, log } = this.parts;
    try {
      const type = typeOfCrd(crd);
      if (this.#builtin.has(crd.metadata.name ?? ''))
        log.warn(
          { crd: crd.metadata.name },
          'CustomResourceDefinition ignored: its name belongs to a built-in kind',
        );
      else if (type) types.put(type);
      else types.remove(crd.metadata.name ?? '');
    } catch (error) {
      log.error(
        { crd: crd.metadata.name, error: errorText(error) },
        'serving a CustomResourceDefinition failed',
      );
    }
    if (crd.metadata.deletionTimestamp !== undefined) this.#cleanUp(crd);
  }

  #cleanUp(crd: KubeObject): void {
    void this.#deleteObjects(crd).catch((error: unknown) => {
      this.parts.log.error(
        { crd: crd.metadata.name, error: errorText(error) },
        'deleting the objects of a CustomResourceDefinition failed',
      );
    });
  }

  async #deleteObjects(crd: KubeObject): Promise<void> {
    const { store, types, objects } = this.parts;
    const name = crd.metadata.name ?? '';
    const type = types.find(name);
    const version = type?.versions.find((each) => each.name === type.storageVersion) ?? type?.versions[0];
    const isOthers = this.#builtin.has(name);
    for (const { object } of isOthers ? [] : store.list(name)) {
      if (!type || !version || object.metadata.deletionTimestamp !== undefined) continue;
      const target = {
        served: { type, version },
        namespace: object.metadata.namespace ?? '',
        name: object.metadata.name ?? '',
      };
      await objects.delete(target, {}).catch(ignoreGone);
    }
    if ((!isOthers && store.list(name).length > 0) || !crd.metadata.finalizers?.includes(CRD_FINALIZER))
      return;
    const crdServed = types.findServed('apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
    if (!crdServed) return;
    const change = (current: KubeObject): KubeObject =>
      withMetadata(current, {
        finalizers: current.metadata.finalizers?.filter((each) => each !== CRD_FINALIZER),
      });
    await objects
      .update({ served: crdServed, namespace: '', name }, change, { manager: MANAGER })
      .catch(ignoreGone);
  }
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof ApiError) || error.code !== 404) throw error;
}
