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
  type PodContainer,
  RESOURCES,
  revisionBuildName,
  type Secret,
} from '#lib/resources';
import { CONTAINER_SECURITY, POD_SECURITY } from './object-labels.js';
import { type PlatformSettings, platformImage } from './platform-settings.js';
import type { ContainerOutput } from './revision-output.js';
import { revisionLabels } from './revision-workload.js';
import { runtimePlacement } from './runtime-placement.js';

/** What git is logged in with; none for repositories that everybody may read. */
export interface GitLogin {
  readonly username?: string;
  readonly token?: string;
  /** PEM. */
  readonly ca?: string;
}

export interface GitBuild {
  readonly revision: AgentRevision;
  readonly commit: string;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  /** The largest result, megabytes. */
  readonly imageMb: number;
  /** Where packages come from; undefined: where the package managers look by themselves. */
  readonly registry?: string | undefined;
  /** The same for packages of Python. */
  readonly pythonIndex?: string | undefined;
}

/** Keys of the build's Secret, by the variables of the container that fetches. */
const LOGIN_VARIABLES: Readonly<Record<string, keyof GitLogin>> = {
  AGENTPLANE_GIT_USERNAME: 'username',
  AGENTPLANE_GIT_TOKEN: 'token',
  AGENTPLANE_GIT_CA: 'ca',
};

/** What commands write there is counted, and ends with the pod. */
const OWN_FOLDERS = [
  { name: 'tmp', mountPath: '/tmp', emptyDir: {} },
  { name: 'shm', mountPath: '/dev/shm', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
];

/**
 * The Job that builds a revision from git, of the workspace's own user and quota. Two containers after one another: the
 * first has the token and runs nothing of the repository, the second the other way round. Neither has a token of the API.
 */
export function buildGitJob(build: GitBuild, settings: PlatformSettings): Job {
  const { timeoutMs, revision } = build;
  const metadata = metadataOf(revision);
  const image = platformImage('builder', settings);
  const common = {
    ...{ image, securityContext: CONTAINER_SECURITY, terminationMessagePolicy: 'File' as const },
    volumeMounts: OWN_FOLDERS.map(({ name, mountPath }) => ({ name, mountPath })),
  };
  const limits = { memory: `${build.memoryMb}Mi` };
  const resources = { requests: { cpu: '500m', memory: '512Mi' }, limits };
  const env = settingsOf(build);
  const fetch: PodContainer = {
    ...{ ...common, name: 'fetch', args: ['fetch'], resources },
    env: [...env, ...loginOf(metadata.name)],
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata,
    spec: {
      // another attempt is another revision
      backoffLimit: 0,
      activeDeadlineSeconds: Math.ceil(timeoutMs / 1000),
      template: {
        metadata: { labels: metadata.labels },
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: POD_SECURITY,
          ...runtimePlacement(settings),
          terminationGracePeriodSeconds: 5,
          volumes: OWN_FOLDERS.map(({ name, emptyDir }) => ({ name, emptyDir })),
          initContainers: [fetch],
          containers: [{ ...common, name: 'build', args: ['build'], resources, env }],
        },
      },
    },
  };
}

/** The token, for as long as the Job runs; no deployment can name it as its variables. */
export function buildGitSecret(revision: AgentRevision, login: GitLogin): Secret {
  const data = Object.entries(login).flatMap(([key, value]: [string, string | undefined]) =>
    value === undefined ? [] : [[key, Buffer.from(value, 'utf8').toString('base64')] as const],
  );
  return {
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: metadataOf(revision) },
    ...{ type: BUILD_LOGIN_TYPE, data: Object.fromEntries(data) },
  };
}

/** The log of a build, kept as long as its revision: a key `CONTAINER.log` for each container. */
export function buildGitOutput(
  revision: AgentRevision,
  outputs: readonly ContainerOutput[],
): ConfigMap & { readonly metadata: { readonly name: string } } {
  const metadata = metadataOf(revision);
  const [first] = outputs;
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...metadata, ...(first ? { annotations: { [ANNOTATION.pod]: first.pod } } : {}) },
    data: Object.fromEntries(outputs.map(({ container, text }) => [`${container}.log`, text])),
  };
}

function settingsOf({
  revision,
  commit,
  imageMb,
  registry,
  pythonIndex,
}: GitBuild): readonly EnvironmentVariable[] {
  const { git } = revision.spec;
  const values: Readonly<Record<string, string | undefined>> = {
    AGENTPLANE_BUILD_REPOSITORY: git?.repoUrl,
    AGENTPLANE_BUILD_COMMIT: commit,
    AGENTPLANE_BUILD_GRAPH_CONFIG: git?.graphConfigPath,
    AGENTPLANE_BUILD_INSTALL: git?.installCommand,
    AGENTPLANE_BUILD_COMMAND: git?.buildCommand,
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

function loginOf(secretName: string): readonly EnvironmentVariable[] {
  return Object.entries(LOGIN_VARIABLES).map(([name, key]) => ({
    name,
    valueFrom: { secretKeyRef: { name: secretName, key, optional: true } },
  }));
}

function metadataOf(revision: AgentRevision) {
  const { name, namespace } = revision.metadata;
  return {
    name: revisionBuildName(name),
    ...(namespace === undefined ? {} : { namespace }),
    labels: { ...revisionLabels(revision), [LABEL.component]: COMPONENT.builder },
    ownerReferences: [controllerReference(RESOURCES.AgentRevision, revision)],
  };
}
