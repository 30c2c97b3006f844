import type { AgentDeployment, AgentRevision, ResourceSpec } from '#lib/resources';

/** Numbers of pods, which are no part of what a revision is. */
const SCALE_FIELDS: ReadonlySet<string> = new Set([
  'minScale',
  'maxScale',
  'queueMinScale',
  'queueMaxScale',
] satisfies (keyof ResourceSpec)[]);

/** A resource spec with the numbers of pods of another one; undefined when nothing is in it. */
export function withScaleOf(
  resourceSpec: ResourceSpec | undefined,
  scale: ResourceSpec | undefined,
): ResourceSpec | undefined {
  const entries = [
    ...Object.entries(resourceSpec ?? {}).filter(([name]) => !SCALE_FIELDS.has(name)),
    ...Object.entries(scale ?? {}).filter(([name]) => SCALE_FIELDS.has(name)),
  ];
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/**
 * A revision with the numbers of pods that its deployment asks for now: scaling makes no revision. Those of a deployment
 * from git come from its size.
 */
export function scaledRevision(revision: AgentRevision, { spec }: AgentDeployment): AgentRevision {
  if (spec.source === 'git_host') return revision;
  const { resourceSpec: former, ...rest } = revision.spec;
  const resourceSpec = withScaleOf(former, spec.sourceConfig.resourceSpec);
  return { ...revision, spec: { ...rest, ...(resourceSpec ? { resourceSpec } : {}) } };
}
