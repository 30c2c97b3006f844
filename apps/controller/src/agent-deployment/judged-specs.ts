import { wantedResourceSpec } from '#lib/manifests';
import { type AgentDeployment, type AgentRevision, idOf, type ResourceSpec } from '#lib/resources';
import { isHandled } from './decide-revision.js';

/** What the next revision may be made from: the present spec, and a revision that is asked for once more. */
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
