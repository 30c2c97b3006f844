import { controllerReference } from '#lib/reconcile';
import {
  type AgentRevision,
  ANNOTATION,
  BUILD_LOGIN_TYPE,
  COMPONENT,
  type ConfigMap,
  type EnvironmentVariable,
  type Job,
  LABEL,
  RESOURCES,
  revisionOutputName,
  type Secret,
} from '#lib/resources';
import { buildInput } from './deployment-source.js';
import {
  type BuildSteps,
  clusterPod,
  gitBuildPlace,
  type ImageRegistry,
  machinePod,
} from './git-build-pod.js';
import { annotationsPart, userLabels } from './object-labels.js';
import type { PlatformSettings } from './platform-settings.js';
import { revisionLabels } from './revision-workload.js';

/** The end of what one container has printed. */
export interface ContainerOutput {
  readonly pod: string;
  readonly container: string;
  /** Each line begins with its time. */
  readonly text: string;
}

/**
 * The last output of a revision whose pods are gone: a key `CONTAINER.log` for each container. The roles
 * view, edit and admin allow reading logs of pods and ConfigMaps alike.
 */
export function buildRevisionOutput(
  revision: AgentRevision,
  outputs: readonly ContainerOutput[],
): ConfigMap & { readonly metadata: { readonly name: string } } {
  const { name, namespace } = revision.metadata;
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: revisionOutputName(name),
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...userLabels(revision.spec.resourceSpec), ...revisionLabels(revision) },
      annotations: {
        ...annotationsPart(revision.spec.resourceSpec).annotations,
        ...(outputs[0] ? { [ANNOTATION.pod]: outputs[0].pod } : {}),
      },
    },
    data: Object.fromEntries(outputs.map(({ container, text }) => [`${container}.log`, text])),
  };
}

/** Login for git, empty for public repositories; for archives the deployment's own key. */
export interface GitLogin {
  readonly username?: string;
  readonly token?: string;
  /** PEM. */
  readonly ca?: string;
}

export interface GitBuild {
  readonly revision: AgentRevision;
  /** Id of the commit; absent for archives. */
  readonly commit?: string | undefined;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  /** The largest result, megabytes. */
  readonly imageMb: number;
  /** Registry of packages; undefined: the default of the package managers. */
  readonly registry?: string | undefined;
  /** The same for packages of Python. */
  readonly pythonIndex?: string | undefined;
  readonly login: GitLogin;
  /** Registry for a cluster's images; undefined on one machine, which takes the result from the pod. */
  readonly images?: ImageRegistry | undefined;
}

/** Keys of the build's Secret, by the variables of the container that fetches. */
const LOGIN_VARIABLES: Readonly<Record<string, keyof GitLogin>> = {
  AGENTPLANE_GIT_USERNAME: 'username',
  AGENTPLANE_GIT_TOKEN: 'token',
  AGENTPLANE_GIT_CA: 'ca',
};

/** A finished Job of a cluster is not needed for as long: its result was taken long before. */
const KEPT_SECONDS = 7_200;

/**
 * The Job that builds a revision. Containers run one after another: the first has the token and runs
 * nothing of the repository, the second the other way round, and on a cluster a third pushes the result. None
 * has a token of the API.
 */
export function buildGitJob(build: GitBuild, settings: PlatformSettings): Job {
  const { timeoutMs, revision, images, login } = build;
  const metadata = metadataOf(revision, images);
  const limits = { memory: `${build.memoryMb}Mi` };
  const resources = { requests: { cpu: '500m', memory: '512Mi' }, limits };
  const env = settingsOf(build, settings);
  const steps: BuildSteps = {
    fetch: {
      name: 'fetch',
      args: ['fetch'],
      resources,
      env: [...env, ...loginOf(metadata.name, images ? login : undefined)],
    },
    build: { name: 'build', args: ['build'], resources, env },
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata,
    spec: {
      // another attempt is another revision
      backoffLimit: 0,
      activeDeadlineSeconds: Math.ceil(timeoutMs / 1000),
      // nothing owns it across namespaces
      ...(images ? { ttlSecondsAfterFinished: KEPT_SECONDS } : {}),
      template: {
        metadata: { labels: metadata.labels },
        spec: images
          ? clusterPod(steps, { git: build, registry: images, settings })
          : machinePod(steps, settings),
      },
    },
  };
}

/**
 * The token, for as long as the Job runs; no deployment can name it as its variables.
 * @param job of a cluster, which owns it: the revision is in another namespace
 */
export function buildGitSecret(
  { revision, login, images }: Pick<GitBuild, 'revision' | 'login' | 'images'>,
  job?: Job,
): Secret {
  const data = Object.entries(login).flatMap(([key, value]: [string, string | undefined]) =>
    value === undefined ? [] : [[key, Buffer.from(value, 'utf8').toString('base64')] as const],
  );
  const metadata = metadataOf(revision, images);
  const owners = job
    ? [{ apiVersion: 'batch/v1', kind: 'Job', name: job.metadata.name, uid: job.metadata.uid ?? '' }]
    : [];
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: images ? { ...metadata, ownerReferences: owners } : metadata,
    type: BUILD_LOGIN_TYPE,
    data: Object.fromEntries(data),
  };
}

/** The log of a build, kept as long as its revision: a key `CONTAINER.log` for each container. */
export function buildGitOutput(
  revision: AgentRevision,
  outputs: readonly ContainerOutput[],
): ConfigMap & { readonly metadata: { readonly name: string } } {
  const metadata = metadataOf(revision, undefined);
  const [first] = outputs;
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...metadata, ...(first ? { annotations: { [ANNOTATION.pod]: first.pod } } : {}) },
    data: Object.fromEntries(outputs.map(({ container, text }) => [`${container}.log`, text])),
  };
}

function settingsOf(
  { revision, commit, imageMb, registry, pythonIndex }: GitBuild,
  { apiUrl }: PlatformSettings,
): readonly EnvironmentVariable[] {
  const { git, archive } = revision.spec;
  const input = buildInput(revision);
  const values: Readonly<Record<string, string | undefined>> = {
    AGENTPLANE_BUILD_REPOSITORY: git?.repoUrl,
    AGENTPLANE_BUILD_COMMIT: commit,
    AGENTPLANE_BUILD_ARCHIVE: archive && `${apiUrl}/v2/${archive.path}`,
    AGENTPLANE_BUILD_GRAPH_CONFIG: input?.graphConfigPath,
    AGENTPLANE_BUILD_INSTALL: input?.installCommand,
    AGENTPLANE_BUILD_COMMAND: input?.buildCommand,
    AGENTPLANE_BUILD_IMAGE_MB: String(imageMb),
    npm_config_registry: registry,
    YARN_NPM_REGISTRY_SERVER: registry,
    PIP_INDEX_URL: pythonIndex,
    UV_DEFAULT_INDEX: pythonIndex,
  };
  return Object.entries(values).flatMap(([name, value]) =>
    // a node expands $(NAME), which is the shell's own way to run a command
    value === undefined ? [] : [{ name, value: value.replaceAll('$', '$$$$') }],
  );
}

/**
 * @param login of a cluster, where the Secret is made after the Job, and the container waits for its content
 */
function loginOf(secretName: string, login: GitLogin | undefined): readonly EnvironmentVariable[] {
  return Object.entries(LOGIN_VARIABLES)
    .filter(([, key]) => !login || login[key] !== undefined)
    .map(([name, key]) => ({
      name,
      valueFrom: { secretKeyRef: { name: secretName, key, optional: !login } },
    }));
}

function metadataOf(revision: AgentRevision, images: ImageRegistry | undefined) {
  const { uid = '', namespace = '' } = revision.metadata;
  const labels = { ...revisionLabels(revision), [LABEL.component]: COMPONENT.builder };
  const place = gitBuildPlace(revision, images);
  if (images)
    return { ...place, labels: { ...labels, [LABEL.owner]: uid, [LABEL.revisionNamespace]: namespace } };
  return { ...place, labels, ownerReferences: [controllerReference(RESOURCES.AgentRevision, revision)] };
}
