import { PublicError } from '#lib/errors';
import { type AgentDeployment, type AgentRevision, idOf } from '#lib/resources';

/**
 * The parts of an archived revision that are deployed again: its resource spec, and its image by the digest
 * that it ran. Variables are not in the archive.
 * @throws PublicError bad_request when the archive does not have enough
 */
export function archivedSnapshot(
  revision: AgentRevision,
  deployment: AgentDeployment,
): Pick<AgentRevision, 'spec'> {
  const { spec, status } = revision;
  // the listener of another cluster writes its status: the image that it names is not for this one
  const isOfElsewhere = spec.placeNamespace !== undefined;
  if (spec.source === 'git_host') {
    const ref = spec.git?.repoRef;
    const from = ref === undefined ? 'the repository' : `repo_ref ${ref}`;
    throw refused(revision, `the image of its build is not kept; request a new revision from ${from}`);
  }
  if (spec.source === 'internal_source')
    throw refused(revision, 'the image of its build is not kept; upload its source again');
  if (spec.source !== deployment.spec.source)
    throw refused(
      revision,
      `its source was ${spec.source}, and that of the deployment is ${deployment.spec.source}; request a new revision`,
    );
  if (isOfElsewhere && spec.source !== 'external_image')
    throw refused(revision, 'it ran in another cluster; request a new revision');
  // a larger one than the archive takes is left out of it
  if ((spec.resourceSpec as object | null | undefined) === null)
    throw refused(revision, 'its resource spec was too large for the archive; request a new revision');
  const image = isOfElsewhere ? undefined : (status?.pinnedImage ?? status?.image);
  return { spec: image === undefined ? spec : { ...spec, imageUri: image } };
}

function refused(revision: AgentRevision, because: string): PublicError {
  return new PublicError(
    'bad_request',
    `Revision with ID ${idOf(revision) ?? ''} is archived and cannot be deployed again: ${because}`,
  );
}
