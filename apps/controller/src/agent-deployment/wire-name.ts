import type { AgentDeployment } from '#lib/resources';

/** The name of a deployment on the wire and of its tracing project. */
export function wireName({ metadata, spec }: Pick<AgentDeployment, 'metadata' | 'spec'>): string {
  return spec.name ?? metadata.name;
}
