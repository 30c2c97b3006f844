import type { AgentDeploymentSpec, AgentRevision, ArchiveSource, GitSource } from '#lib/resources';

/** Path of the graph configuration in an archive unless the deployment names another. */
export const DEFAULT_GRAPH_CONFIG = 'langgraph.json';

const BUILT: ReadonlySet<string> = new Set([
  'git_host',
  'internal_source',
] satisfies AgentDeploymentSpec['source'][]);

/** True for sources whose images the platform builds. */
export function isBuiltSource(source: AgentDeploymentSpec['source']): boolean {
  return BUILT.has(source);
}

/** The repository or the archive that a revision is built from; undefined for images. */
export function buildInput({ spec }: Pick<AgentRevision, 'spec'>): GitSource | ArchiveSource | undefined {
  return spec.git ?? spec.archive;
}

/** Sentence about what a deployment gets no revision without; undefined when it has that. */
export function awaitedSource({
  source,
  sourceRevisionConfig: { imageUri, sourceTarballPath },
}: Pick<AgentDeploymentSpec, 'source' | 'sourceRevisionConfig'>): string | undefined {
  if (source === 'internal_source' && sourceTarballPath === undefined)
    return 'waiting for an archive of the source: upload one to a URL of POST /v2/deployments/{id}/upload-url, and name its object_path as source_tarball_path';
  if (source === 'internal_image' && imageUri === undefined)
    return 'waiting for an image: add one with "agentplane image add NAME FOLDER", and name it as image_uri';
  return undefined;
}
