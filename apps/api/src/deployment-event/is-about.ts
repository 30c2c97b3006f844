import type { AgentDeployment, KubeEvent } from '#lib/resources';

/** Objects of the name of the deployment itself. */
const NAMED_LIKE_IT: ReadonlySet<string> = new Set(['AgentDeployment', 'Service']);
/**
 * Suffix to the name of a deployment in the names of its revisions, their workloads and pods:
 * `-00001-7d9f-x2k`.
 */
const OF_REVISION = /^-\d{5,}(-|$)/;

/**
 * True when an event is about the deployment, one of its revisions, or the children of those. It compares
 * names, since the objects may be gone: names of revisions are their deployment's with a number, and those of
 * their children begin with them.
 * @param others names of the deployments beside it: `a-00001` may be one too, whose revisions are not those
 * of `a`
 */
export function isAbout(
  { involvedObject: { kind = '', name = '', uid } }: KubeEvent,
  deployment: AgentDeployment,
  others: readonly string[],
): boolean {
  const own = deployment.metadata.name;
  if (NAMED_LIKE_IT.has(kind))
    // a deployment of the same name may have been there before
    return (
      name === own && (kind !== 'AgentDeployment' || uid === undefined || uid === deployment.metadata.uid)
    );
  if (!isRevisionOf(own, name)) return false;
  return !others.some((other) => other.length > own.length && isRevisionOf(other, name));
}

function isRevisionOf(deployment: string, name: string): boolean {
  return name.startsWith(deployment) && OF_REVISION.test(name.slice(deployment.length));
}
