import type { AgentDeploymentSpec, ResourceSpec, SourceConfig } from '#lib/resources';

/** Resources for the sizes of deployments from git; docs/design/resource-spec.md has them as a table. */
export const DEPLOYMENT_TYPES: Readonly<
  Record<NonNullable<SourceConfig['deploymentType']>, Readonly<ResourceSpec>>
> = {
  // a start is a core's work for some seconds: twice the request would make that a fifth of a core
  dev_free: { minScale: 1, cpu: 0.1, cpuLimit: 1, memoryMb: 256, memoryLimitMb: 1024 },
  dev: { minScale: 1, cpu: 0.5, memoryMb: 512, memoryLimitMb: 2048 },
  prod: { minScale: 2, cpu: 1, memoryMb: 1024, memoryLimitMb: 4096 },
};

/** Resource spec for the workloads of a deployment: its own, or, from git, that of its size. */
export function wantedResourceSpec({
  source,
  sourceConfig: { resourceSpec, deploymentType },
}: Pick<AgentDeploymentSpec, 'source' | 'sourceConfig'>): ResourceSpec | undefined {
  const size =
    source === 'git_host' && deploymentType !== undefined ? DEPLOYMENT_TYPES[deploymentType] : undefined;
  return resourceSpec ?? size;
}
