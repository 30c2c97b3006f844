import { compileSchema, type ResourceType } from '#lib/kube-semantics';

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
