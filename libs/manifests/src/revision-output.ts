import { type AgentRevision, ANNOTATION, type ConfigMap, revisionOutputName } from '#lib/resources';
import { revisionLabels } from './revision-workload.js';
import { annotationsPart, userLabels } from './user-metadata.js';

/** The end of what one container has printed. */
export interface ContainerOutput {
  readonly pod: string;
  readonly container: string;
  /** Each line begins with its time. */
  readonly text: string;
}

/**
 * The last output of a revision whose pods are gone: a key `CONTAINER.log` for each container. The roles
 * view, edit and admin allow reading logs of pods and ConfigMaps alike.
 */
export function buildRevisionOutput(
  revision: AgentRevision,
  outputs: readonly ContainerOutput[],
): ConfigMap & { readonly metadata: { readonly name: string } } {
  const { name, namespace } = revision.metadata;
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: revisionOutputName(name),
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...userLabels(revision.spec.resourceSpec), ...revisionLabels(revision) },
      annotations: {
        ...annotationsPart(revision.spec.resourceSpec).annotations,
        ...(outputs[0] ? { [ANNOTATION.pod]: outputs[0].pod } : {}),
      },
    },
    data: Object.fromEntries(outputs.map(({ container, text }) => [`${container}.log`, text])),
  };
}
