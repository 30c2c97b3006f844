import { type AgentRevision, LABEL, type ObjectKey, revisionBuildName } from '#lib/resources';

/** A registry that builds of a cluster push their images to, and the namespace in which they run. */
export interface ImageRegistry {
  /** Namespace of all builds; no tenant can read it. */
  readonly namespace: string;
  /** Prefix of image names, as `registry.example.com/team/agents`. */
  readonly prefix: string;
  /** Secret of that namespace with the login, of type `kubernetes.io/dockerconfigjson`; none where everybody may push. */
  readonly pushSecret?: string | undefined;
  /** True when it may have no TLS, or an untrusted certificate. */
  readonly isInsecure: boolean;
  /** PEM of a certificate that it is trusted by. */
  readonly ca?: string | undefined;
  /** Base of images; the platform's own of its version when absent. */
  readonly base?: string | undefined;
  readonly pythonBase?: string | undefined;
}

/**
 * Namespace and name of a build's Job and Secret: beside the revision on one machine, where the pod has the user and the
 * quota of the workspace; on a cluster in the namespace of builds, by the revision's uid, since names of several
 * workspaces meet there.
 */
export function gitBuildPlace(
  { metadata: { name, namespace = '', uid = '' } }: AgentRevision,
  registry: ImageRegistry | undefined,
): Required<ObjectKey> {
  return registry
    ? { namespace: registry.namespace, name: `build-${uid.replaceAll('-', '')}` }
    : { namespace, name: revisionBuildName(name) };
}

/** Revision of an object in the namespace of builds; undefined for an object beside its revision. */
export function revisionOfBuild({
  metadata: { labels },
}: {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
}): ObjectKey | undefined {
  const [namespace, name] = [labels?.[LABEL.revisionNamespace], labels?.[LABEL.revision]];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

/** The repository of a deployment's images. */
export function imageRepository(
  { metadata: { namespace = '' }, spec: { deploymentName } }: AgentRevision,
  { prefix }: Pick<ImageRegistry, 'prefix'>,
): string {
  return `${prefix}/${namespace}/${deploymentName}`;
}
