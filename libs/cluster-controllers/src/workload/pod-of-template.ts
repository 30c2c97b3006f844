import type { Draft } from '#lib/kube';
import type { ObjectMeta, OwnerReference, Pod, PodTemplate } from '#lib/resources';

/** A pod as a workload's template describes it; the API server completes its name. */
export function podOfTemplate(
  template: PodTemplate,
  owner: ObjectMeta,
  reference: OwnerReference,
): Draft<Pod> {
  return {
    metadata: {
      // 63 characters with the five that the server adds
      generateName: `${owner.name.slice(0, 57)}-`,
      ...(owner.namespace === undefined ? {} : { namespace: owner.namespace }),
      labels: { ...template.metadata?.labels },
      annotations: { ...template.metadata?.annotations },
      finalizers: [...(template.metadata?.finalizers ?? [])],
      ownerReferences: [reference],
    },
    spec: template.spec,
  };
}
