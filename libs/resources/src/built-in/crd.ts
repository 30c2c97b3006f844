import type { KubeObject } from '../kube-object.js';
import type { ResourceRef } from '../resource-ref.js';
import type { WorkloadCondition } from './workload.js';

export interface CustomResourceDefinition extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly scope: 'Namespaced' | 'Cluster';
    readonly names: {
      readonly kind: string;
      readonly plural: string;
      readonly shortNames?: readonly string[];
    };
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly storage: boolean;
    }[];
  };
  readonly status?: { readonly conditions?: readonly WorkloadCondition[] };
}

export const CUSTOM_RESOURCE_DEFINITIONS: ResourceRef<CustomResourceDefinition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
