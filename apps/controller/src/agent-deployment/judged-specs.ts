import { wantedResourceSpec } from '#lib/manifests';
import { type AgentDeployment, type AgentRevision, idOf, type ResourceSpec } from '#lib/resources';
import { isHandled } from './decide-revision.js';

/**
 * Specs from which the next revision may be made: the present one, and that of a revision to be redeployed.
 */
export function judgedSpecs({
  deployment,
  revisions,
}: {
  readonly deployment: AgentDeployment;
  readonly revisions: readonly AgentRevision[];
}): readonly ResourceSpec[] {
  const from = deployment.spec.revisionRequest?.fromRevisionId?.toLowerCase();
  const repeated = isHandled(deployment, revisions)
    ? undefined
    : revisions.find((revision) => idOf(revision) === from);
  return [wantedResourceSpec(deployment.spec), repeated?.spec.resourceSpec].filter(
    (spec) => spec !== undefined,
  );
}
