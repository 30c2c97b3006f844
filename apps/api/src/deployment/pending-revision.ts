import type { AgentDeployment, RevisionRequest } from '#lib/resources';

/** The revision that was requested and is not made yet. */
export function pendingRevision(deployment: AgentDeployment): RevisionRequest | undefined {
  const { spec, status } = deployment;
  return spec.revisionRequest && spec.revisionRequest.id !== status?.handledRevisionRequestId
    ? spec.revisionRequest
    : undefined;
}
