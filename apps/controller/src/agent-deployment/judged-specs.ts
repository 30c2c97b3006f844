import { wantedResourceSpec } from '#lib/manifests';
import { type AgentDeployment, type AgentRevision, idOf, type ResourceSpec } from '#lib/resources';
import { isHandled } from './decide-revision.js';

interface JudgedDeployment {
  readonly deployment: AgentDeployment;
  readonly revisions: readonly AgentRevision[];
}

type Judged = Pick<AgentRevision['spec'], 'resourceSpec' | 'secretReferences'>;

/**
 * Specs from which the next revision may be made: the present one, and that of a revision to be redeployed.
 */
function judged({ deployment, revisions }: JudgedDeployment): readonly Judged[] {
  const from = deployment.spec.revisionRequest?.fromRevisionId?.toLowerCase();
  const repeated = isHandled(deployment, revisions)
    ? undefined
    : revisions.find((revision) => idOf(revision) === from);
  const resourceSpec = wantedResourceSpec(deployment.spec);
  const { secretReferences } = deployment.spec;
  const present = {
    ...(resourceSpec ? { resourceSpec } : {}),
    ...(secretReferences ? { secretReferences } : {}),
  };
  return [present, ...(repeated ? [repeated.spec] : [])];
}

/** Resource specs of the next revision. */
export function judgedSpecs(of: JudgedDeployment): readonly ResourceSpec[] {
  return judged(of).flatMap(({ resourceSpec }) => resourceSpec ?? []);
}

/** Secrets whose values become variables of the next revision. */
export function judgedReferences(of: JudgedDeployment): readonly string[] {
  return judged(of).flatMap(({ secretReferences = [] }) =>
    secretReferences.map(({ secretName }) => secretName),
  );
}
