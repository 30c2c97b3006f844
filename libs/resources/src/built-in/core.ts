import type { KubeObject } from '../kube-object.js';
import type { OwnerReference } from '../object-meta.js';
import type { ResourceRef } from '../resource-ref.js';
import type { WorkloadCondition } from './workload.js';

export interface Namespace extends KubeObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: {
    readonly phase?: 'Active' | 'Terminating';
    readonly conditions?: readonly WorkloadCondition[];
  };
}

export interface Secret extends KubeObject {
  readonly type?: string;
  readonly immutable?: boolean;
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>;
  /** Only ever sent. */
  readonly stringData?: Readonly<Record<string, string>>;
}

export interface ConfigMap extends KubeObject {
  readonly immutable?: boolean;
  readonly data?: Readonly<Record<string, string>>;
}

export interface ServiceAccount extends KubeObject {
  readonly automountServiceAccountToken?: boolean;
}

export interface Service extends KubeObject {
  readonly spec: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly {
      readonly name?: string;
      readonly port: number;
      readonly protocol?: string;
      readonly targetPort?: number | string;
    }[];
  };
}

export interface PersistentVolumeClaim extends KubeObject {
  readonly spec: {
    readonly accessModes?: readonly string[];
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
  };
  readonly status?: { readonly phase?: string; readonly capacity?: Readonly<Record<string, string>> };
}

export type ObjectReference = Partial<Omit<OwnerReference, 'controller' | 'blockOwnerDeletion'>> & {
  readonly namespace?: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
};

export interface KubeEvent extends KubeObject {
  readonly involvedObject: ObjectReference;
  readonly reason?: string;
  readonly message?: string;
  readonly type?: 'Normal' | 'Warning';
  readonly count?: number;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  /** Time of events of the newer API, instead of the two times. */
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string } | null;
  readonly source?: { readonly component?: string; readonly host?: string };
  readonly reportingComponent?: string;
  readonly reportingInstance?: string;
}

function core<T extends KubeObject>(plural: string, kind: string, namespaced = true): ResourceRef<T> {
  return { group: '', version: 'v1', plural, kind, namespaced };
}

export const NAMESPACES: ResourceRef<Namespace> = core('namespaces', 'Namespace', false);
export const SECRETS: ResourceRef<Secret> = core('secrets', 'Secret');
export const CONFIG_MAPS: ResourceRef<ConfigMap> = core('configmaps', 'ConfigMap');
export const SERVICE_ACCOUNTS: ResourceRef<ServiceAccount> = core('serviceaccounts', 'ServiceAccount');
export const SERVICES: ResourceRef<Service> = core('services', 'Service');
export const PERSISTENT_VOLUME_CLAIMS: ResourceRef<PersistentVolumeClaim> = core(
  'persistentvolumeclaims',
  'PersistentVolumeClaim',
);
export const EVENTS: ResourceRef<KubeEvent> = core('events', 'Event');
