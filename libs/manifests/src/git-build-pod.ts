import {
  type AgentRevision,
  type EnvironmentVariable,
  LABEL,
  type ObjectKey,
  type PodContainer,
  type PodSpec,
  revisionBuildName,
} from '#lib/resources';
import { CONTAINER_SECURITY, POD_SECURITY } from './object-labels.js';
import { platformImage, type PlatformSettings } from './platform-settings.js';
import { placementOf, runtimePlacement } from './pod-placement.js';

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

/** User of the builder's image. */
const USER = 10001;
const LOGIN_FOLDER = '/login';
/** Size of a base, plain and packed, in megabytes. */
const BASE_MB = 4096;

/** Writable folders; their content is counted, and is deleted with the pod. */
const OWN_FOLDERS = [
  { name: 'tmp', mountPath: '/tmp', emptyDir: {} },
  { name: 'shm', mountPath: '/dev/shm', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
];

type Common = Pick<PodContainer, 'image' | 'securityContext' | 'terminationMessagePolicy' | 'volumeMounts'>;

interface BuildOfRevision {
  readonly revision: AgentRevision;
  readonly imageMb: number;
}

/** The containers that every build has, without what depends on where it runs. */
export interface BuildSteps {
  readonly fetch: PodContainer;
  readonly build: PodContainer;
}

/** On one machine: what the second container leaves in the pod's own folder is the result, and the node keeps it. */
export function machinePod({ fetch, build }: BuildSteps, settings: PlatformSettings): PodSpec {
  const common: Common = {
    ...containerPart(settings),
    volumeMounts: OWN_FOLDERS.map(({ name, mountPath }) => ({ name, mountPath })),
  };
  return {
    ...podPart(),
    securityContext: POD_SECURITY,
    ...runtimePlacement(settings),
    volumes: OWN_FOLDERS.map(({ name, emptyDir }) => ({ name, emptyDir })),
    initContainers: [{ ...common, ...fetch }],
    containers: [{ ...common, ...build }],
  };
}

/**
 * On a cluster: the same two, then one that makes an image of the result and pushes it. Commands of the repository have
 * ended by then, and it alone has the login of the registry and reads the result without being able to change it. That is all
 * that it shares with them: programs keep code in `/tmp` that their next start runs. As the restricted Pod Security Standard
 * asks for.
 */
export function clusterPod(
  { fetch, build }: BuildSteps,
  {
    git,
    registry,
    settings,
  }: { readonly git: BuildOfRevision; readonly registry: ImageRegistry; readonly settings: PlatformSettings },
): PodSpec {
  const own = OWN_FOLDERS.map(({ name, mountPath }) => ({ name, mountPath }));
  const common: Common = {
    ...containerPart(settings),
    securityContext: { ...CONTAINER_SECURITY, readOnlyRootFilesystem: true },
  };
  const working = {
    ...common,
    workingDir: '/build',
    volumeMounts: [...own, { name: 'work', mountPath: '/build' }],
  };
  const { pushSecret } = registry;
  const login = pushSecret === undefined ? [] : [{ name: 'login', mountPath: LOGIN_FOLDER, readOnly: true }];
  const push: PodContainer = {
    ...common,
    name: 'push',
    args: ['push'],
    workingDir: '/push',
    resources: build.resources,
    env: [...(build.env ?? []), ...pushSettings(git, registry, settings)],
    volumeMounts: [
      { name: 'push-tmp', mountPath: '/tmp' },
      { name: 'push', mountPath: '/push' },
      { name: 'work', mountPath: '/build', readOnly: true },
      ...login,
    ],
  };
  // where the platform's own pods run, but of no class that only its own namespace may have
  const { priorityClassName: _, ...pods } = settings.pods ?? {};
  return {
    ...podPart(),
    securityContext: {
      ...POD_SECURITY,
      runAsNonRoot: true,
      runAsUser: USER,
      runAsGroup: USER,
      fsGroup: USER,
    },
    ...placementOf({ ...settings, pods }),
    volumes: clusterVolumes(git.imageMb, pushSecret),
    initContainers: [
      { ...working, ...fetch },
      { ...working, ...build },
    ],
    containers: [push],
  };
}

function clusterVolumes(imageMb: number, pushSecret: string | undefined): readonly object[] {
  // the builder ends what takes more, and says why; the node would only evict the pod
  const most = { work: 3 * imageMb + 1024, tmp: 3 * imageMb + 1024, push: 3 * imageMb + BASE_MB + 1024 };
  const login = {
    name: 'login',
    secret: {
      secretName: pushSecret,
      items: [{ key: '.dockerconfigjson', path: 'config.json' }],
      defaultMode: 0o440,
    },
  };
  return [
    { name: 'work', emptyDir: { sizeLimit: `${most.work}Mi` } },
    { name: 'tmp', emptyDir: { sizeLimit: `${most.tmp}Mi` } },
    { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
    { name: 'push', emptyDir: { sizeLimit: `${most.push}Mi` } },
    { name: 'push-tmp', emptyDir: { sizeLimit: '256Mi' } },
    ...(pushSecret === undefined ? [] : [login]),
  ];
}

function pushSettings(
  { revision }: BuildOfRevision,
  registry: ImageRegistry,
  settings: PlatformSettings,
): readonly EnvironmentVariable[] {
  const { pushSecret, isInsecure, ca, base, pythonBase } = registry;
  const values: Readonly<Record<string, string | undefined>> = {
    AGENTPLANE_PUSH_SOURCE: '/build/source',
    AGENTPLANE_PUSH_REPOSITORY: imageRepository(revision, registry),
    AGENTPLANE_PUSH_BASE: base ?? platformImage('agent', settings),
    AGENTPLANE_PUSH_PYTHON_BASE: pythonBase ?? platformImage('agent-python', settings),
    AGENTPLANE_PUSH_AUTH_FILE: pushSecret === undefined ? undefined : `${LOGIN_FOLDER}/config.json`,
    AGENTPLANE_PUSH_INSECURE: isInsecure ? 'true' : undefined,
    AGENTPLANE_PUSH_CA: ca,
  };
  return Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
}

function podPart(): Pick<
  PodSpec,
  'restartPolicy' | 'automountServiceAccountToken' | 'enableServiceLinks' | 'terminationGracePeriodSeconds'
> {
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 5,
  };
}

function containerPart(settings: PlatformSettings): Common {
  return {
    image: platformImage('builder', settings),
    securityContext: CONTAINER_SECURITY,
    terminationMessagePolicy: 'File',
  };
}
