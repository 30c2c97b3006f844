/** A manifest that a rule of the definition refuses. */
interface RefusedManifest {
  readonly what: string;
  /** Of the object. */
  readonly name?: string;
  readonly spec: object;
  /** A spec as near to it as can be that is allowed. */
  readonly accepted?: object;
  readonly message: string;
}

interface RefusedChange {
  readonly what: string;
  readonly before: object;
  /** Merged into the spec. */
  readonly after: object;
  readonly message: string;
}

const ID = '11111111-1111-4111-8111-111111111111';
const ARCHIVE = `deployments/${ID}/archives/${ID}`;
const OTHER_ID = '22222222-2222-4222-8222-222222222222';

const image = (sourceConfig: object = {}, source = 'external_image') => ({
  source,
  sourceConfig,
  sourceRevisionConfig: { imageUri: 'example.org/agent:1' },
});
const git = (sourceConfig: object = {}, sourceRevisionConfig: object = {}) => ({
  source: 'git_host',
  sourceConfig: { repoUrl: 'https://git.example.org/a.git', ...sourceConfig },
  sourceRevisionConfig: { graphConfigPath: 'langgraph.json', ...sourceRevisionConfig },
});
const sized = (resourceSpec: object) => image({ resourceSpec });
const container = (more: object, name = 'beside') => ({ name, image: 'example.org/beside:1', ...more });

const volume = (source: object) => ({ volumes: [{ name: 'a', ...source }] });
const mounts = (...mounted: object[]) => ({
  volumes: [{ name: 'a', emptyDir: {} }],
  volumeMounts: mounted.map((each) => ({ name: 'a', ...each })),
});
const beside = (more: object) => ({ sidecars: [container(more)] });

/** A resource spec that Kubernetes would refuse as a pod. */
function malformed(
  what: string,
  resourceSpec: object,
  { accepted, message }: { readonly accepted: object; readonly message: string },
): RefusedManifest {
  return { what, spec: sized(resourceSpec), accepted: sized(accepted), message };
}

/** A source config that only deployments from git may have. */
function onlyGit(field: string, value: unknown): RefusedManifest {
  return {
    what: `${field} of an image`,
    spec: image({ [field]: value }),
    accepted: git({ [field]: value }),
    message: `sourceConfig.${field} is only for source git_host`,
  };
}

/** One that only external images may have. */
function onlyExternal(field: string, value: unknown): RefusedManifest {
  return {
    what: `${field} of an internal image`,
    spec: image({ [field]: value }, 'internal_image'),
    accepted: image({ [field]: value }),
    message: `sourceConfig.${field} is only for source external_image`,
  };
}

/** A field of the resource spec that must not be above another. */
function bounded(lower: string, upper: string): RefusedManifest {
  return {
    what: `${lower} above ${upper}`,
    spec: sized({ [lower]: 2, [upper]: 1 }),
    accepted: sized({ [lower]: 2, [upper]: 2 }),
    message: `${lower} must not be greater than ${upper}`,
  };
}

function onFailure(list: string): RefusedManifest {
  return {
    what: `restartPolicy OnFailure in ${list}`,
    spec: sized({ [list]: [container({ restartPolicy: 'OnFailure' })] }),
    accepted: sized({ [list]: [container({ restartPolicy: 'Always' })] }),
    message: `restartPolicy OnFailure is not supported in ${list}, since pods of a deployment restart what ends; drop it, or use Always for a container that runs beside the agent`,
  };
}

function namedAgent(list: string): RefusedManifest {
  return {
    what: `the name agent in ${list}`,
    spec: sized({ [list]: [container({}, 'agent')] }),
    accepted: sized({ [list]: [container({}, 'agents')] }),
    message: "the name agent belongs to the agent's own container",
  };
}

function twoValues(list: string): RefusedManifest {
  const valueFrom = { fieldRef: { fieldPath: 'metadata.name' } };
  return {
    what: `a variable with two values in ${list}`,
    spec: sized({ [list]: [container({ env: [{ name: 'A', value: 'x', valueFrom }] })] }),
    accepted: sized({ [list]: [container({ env: [{ name: 'A', value: '', valueFrom }] })] }),
    message: 'valueFrom cannot be used when value is not empty',
  };
}

const NAME = 'metadata.name must be a DNS label that begins with a letter, of at most 57 characters';
const URL_MESSAGE =
  'must be a URL that begins with https:// and names no user, query or fragment, without blanks and control characters; put a token into a git integration';
const REF = 'must be a name that git accepts for a branch or tag, and must not begin with "-"';
const PATH = 'must be a relative path that stays in the repository, and must not begin with "-"';

export const MANIFESTS: readonly RefusedManifest[] = [
  { what: 'a name that begins with a digit', name: '1a', spec: image(), message: NAME },
  { what: 'a name that is too long', name: 'a'.repeat(58), spec: image(), message: NAME },
  onlyGit('integrationId', ID),
  onlyGit('repoUrl', 'https://git.example.org/a.git'),
  onlyGit('buildOnPush', true),
  onlyExternal('customUrl', 'https://agents.example.org'),
  onlyExternal('listenerId', ID),
  onlyExternal('listenerConfig', { clusterNamespace: 'x' }),
  {
    what: 'a branch of an image',
    spec: { ...image(), sourceRevisionConfig: { imageUri: 'i', repoRef: 'main' } },
    accepted: git({}, { repoRef: 'main' }),
    message: 'sourceRevisionConfig.repoRef is only for source git_host',
  },
  {
    what: 'a graph configuration of an image',
    spec: { ...image(), sourceRevisionConfig: { imageUri: 'i', graphConfigPath: 'langgraph.json' } },
    message: 'sourceRevisionConfig.graphConfigPath is only for sources git_host and internal_source',
  },
  {
    what: 'no image',
    spec: { source: 'external_image' },
    accepted: image(),
    message: 'sourceRevisionConfig.imageUri is required for source external_image',
  },
  {
    what: 'an image of a deployment from git',
    spec: git({}, { imageUri: 'i' }),
    accepted: git(),
    message: 'sourceRevisionConfig.imageUri is only for sources external_image and internal_image',
  },
  {
    what: 'an archive of an image',
    spec: {
      ...image(),
      sourceRevisionConfig: { imageUri: 'i', sourceTarballPath: ARCHIVE },
    },
    accepted: { source: 'internal_source', sourceRevisionConfig: { sourceTarballPath: ARCHIVE } },
    message: 'sourceRevisionConfig.sourceTarballPath is only for source internal_source',
  },
  {
    what: 'no repository',
    spec: { source: 'git_host', sourceRevisionConfig: { graphConfigPath: 'langgraph.json' } },
    message: 'sourceConfig.repoUrl is required for source git_host',
  },
  {
    what: 'no graph configuration',
    spec: { source: 'git_host', sourceConfig: { repoUrl: 'https://git.example.org/a.git' } },
    message: 'sourceRevisionConfig.graphConfigPath is required for source git_host',
  },
  {
    what: 'builds on pushes of a tag',
    spec: git({ buildOnPush: true }, { repoRef: 'refs/tags/v1' }),
    accepted: git({ buildOnPush: false }, { repoRef: 'refs/tags/v1' }),
    message: 'sourceConfig.buildOnPush cannot be enabled for a tag, since tags are immutable',
  },
  ...[
    ['another scheme', 'ssh://git.example.org/a.git'],
    ['a command of git', 'ext::sh -c id'],
    ['a user', 'https://me@git.example.org/a.git'],
    ['an option', 'https://-x/a.git'],
  ].map(([what = '', repoUrl = '']) => ({
    what: `a repository by ${what}`,
    spec: git({ repoUrl }),
    message: URL_MESSAGE,
  })),
  ...['-x', '../main', 'a..b', 'a.lock'].map((repoRef) => ({
    what: `the branch ${repoRef}`,
    spec: git({}, { repoRef }),
    accepted: git({}, { repoRef: 'feature/a' }),
    message: REF,
  })),
  ...['/etc/x.json', '../x.json', 'a/../../x.json', '-x'].map((graphConfigPath) => ({
    what: `the graph configuration ${graphConfigPath}`,
    spec: git({}, { graphConfigPath }),
    accepted: git({}, { graphConfigPath: 'apps/a/langgraph.json' }),
    message: PATH,
  })),
  bounded('minScale', 'maxScale'),
  bounded('queueMinScale', 'queueMaxScale'),
  bounded('cpu', 'cpuLimit'),
  bounded('queueCpu', 'queueCpuLimit'),
  bounded('dbCpu', 'dbCpuLimit'),
  bounded('memoryMb', 'memoryLimitMb'),
  bounded('queueMemoryMb', 'queueMemoryLimitMb'),
  bounded('dbMemoryMb', 'dbMemoryLimitMb'),
  {
    what: 'a mount of no volume',
    spec: sized({
      volumes: [{ name: 'a', emptyDir: {} }],
      volumeMounts: [{ name: 'b', mountPath: '/b' }],
    }),
    accepted: sized({
      volumes: [{ name: 'a', emptyDir: {} }],
      volumeMounts: [{ name: 'a', mountPath: '/b' }],
    }),
    message: 'every volumeMount must name one of the volumes',
  },
  ...['sidecars', 'initContainers'].map((list) => ({
    what: `a mount of no volume in ${list}`,
    spec: sized({ [list]: [container({ volumeMounts: [{ name: 'a', mountPath: '/a' }] })] }),
    accepted: sized({
      volumes: [{ name: 'a', emptyDir: {} }],
      [list]: [container({ volumeMounts: [{ name: 'a', mountPath: '/a' }] })],
    }),
    message: 'every volumeMount must name one of the volumes',
  })),
  malformed('a field that a volume does not have', volume({ configMap: { nam: 'x' } }), {
    accepted: volume({ configMap: { name: 'x' } }),
    message: 'unknown field "spec.sourceConfig.resourceSpec.volumes[0].configMap.nam"',
  }),
  malformed(
    'a typo in a toleration',
    { tolerations: [{ operatr: 'Exists' }] },
    {
      accepted: { tolerations: [{ operator: 'Exists' }], nodeSelector: { pool: 'agents' } },
      message: 'unknown field "spec.sourceConfig.resourceSpec.tolerations[0].operatr"',
    },
  ),
  malformed('a ConfigMap without a name', volume({ configMap: {} }), {
    accepted: volume({ configMap: { name: 'x', items: [{ key: 'k', path: 'p', mode: 256 }] } }),
    message: 'spec.sourceConfig.resourceSpec.volumes[0].configMap.name: Required value',
  }),
  malformed('a volume of two kinds', volume({ emptyDir: {}, secret: { secretName: 'x' } }), {
    accepted: volume({ secret: { secretName: 'x' } }),
    message: 'may not specify more than 1 volume type',
  }),
  malformed('a volume of no kind', volume({}), {
    accepted: volume({ emptyDir: { sizeLimit: '1Gi' } }),
    message: 'must specify a volume type',
  }),
  malformed('a size that is no quantity', volume({ emptyDir: { sizeLimit: 'much' } }), {
    accepted: volume({ emptyDir: { sizeLimit: 1024 } }),
    message: 'resourceSpec.volumes[0].emptyDir.sizeLimit: Invalid value: "much"',
  }),
  malformed('two mounts at one path', mounts({ mountPath: '/a' }, { mountPath: '/a' }), {
    accepted: mounts({ mountPath: '/a' }, { mountPath: '/b' }),
    message: 'resourceSpec.volumeMounts[1]: Duplicate value',
  }),
  malformed('a mount with two paths', mounts({ mountPath: '/a', subPath: 'b', subPathExpr: '$(C)' }), {
    accepted: mounts({ mountPath: '/a', subPath: 'b' }),
    message: 'subPathExpr and subPath are mutually exclusive',
  }),
  malformed('a security context with a typo', beside({ securityContext: { privilegedd: true } }), {
    accepted: beside({ securityContext: { runAsUser: 5, capabilities: { drop: ['ALL'] } } }),
    message: 'unknown field "spec.sourceConfig.resourceSpec.sidecars[0].securityContext.privilegedd"',
  }),
  malformed('a variable from nothing', beside({ env: [{ name: 'A', valueFrom: {} }] }), {
    accepted: beside({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }),
    message: 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`',
  }),
  malformed('variables from nothing', beside({ envFrom: [{ prefix: 'A' }] }), {
    accepted: beside({ envFrom: [{ prefix: 'A', secretRef: { name: 'x' } }] }),
    message: 'must specify one of: `configMapRef` or `secretRef`',
  }),
  malformed(
    'variables from two objects',
    beside({ envFrom: [{ configMapRef: { name: 'x' }, secretRef: { name: 'x' } }] }),
    {
      accepted: beside({ envFrom: [{ configMapRef: { name: 'x' } }, { secretRef: { name: 'x' } }] }),
      message: 'may not have more than one field specified at a time',
    },
  ),
  malformed('an amount that is no quantity', beside({ resources: { limits: { cpu: 'two' } } }), {
    accepted: beside({ resources: { limits: { cpu: '2', memory: '64Mi', 'example.com/gpu': '1' } } }),
    message: 'sidecars[0].resources.limits.cpu: Invalid value: "two"',
  }),
  malformed(
    'a request above its limit',
    beside({ resources: { requests: { cpu: '1500m' }, limits: { cpu: '1' } } }),
    {
      accepted: beside({ resources: { requests: { cpu: '1000m' }, limits: { cpu: '1' } } }),
      message: 'requests must be less than or equal to limits',
    },
  ),
  malformed('a resource that no container has', beside({ resources: { limits: { cpus: '1' } } }), {
    accepted: beside({ resources: { limits: { 'ephemeral-storage': '1Gi' } } }),
    message: 'must be a standard resource for containers',
  }),
  malformed(
    'one name in two lists of containers',
    { initContainers: [container({}, 'a')], sidecars: [container({}, 'a')] },
    {
      accepted: { initContainers: [container({}, 'a')], sidecars: [container({}, 'b')] },
      message: 'a container of sidecars must not have the name of one of initContainers',
    },
  ),
  ...['labels', 'annotations'].map((field) =>
    malformed(
      `a key of ${field} that is no name`,
      { [field]: { 'no name': 'x' } },
      {
        accepted: { [field]: { 'example.com/team': 'x' } },
        message: 'must have qualified names, such as example.com/team, as keys',
      },
    ),
  ),
  malformed(
    'a label that is no value',
    { labels: { team: 'no value' } },
    {
      accepted: { labels: { team: 'a_value', other: '' } },
      message: 'resourceSpec.labels.team: Invalid value: "no value"',
    },
  ),
  malformed(
    'a request of the queue that is above its limit',
    { cpu: 2, queueCpuLimit: 1 },
    {
      accepted: { cpu: 2, queueCpu: 1, queueCpuLimit: 1 },
      message: 'cpu must not be greater than queueCpuLimit while queueCpu is unset',
    },
  ),
  malformed(
    'memory of the queue that is above its limit',
    { memoryMb: 2, queueMemoryLimitMb: 1 },
    {
      accepted: { memoryMb: 2, queueMemoryMb: 1, queueMemoryLimitMb: 1 },
      message: 'memoryMb must not be greater than queueMemoryLimitMb while queueMemoryMb is unset',
    },
  ),
  onFailure('sidecars'),
  onFailure('initContainers'),
  namedAgent('sidecars'),
  namedAgent('initContainers'),
  twoValues('sidecars'),
  twoValues('initContainers'),
  {
    what: 'the account of a listener',
    spec: sized({ serviceAccountName: 'listener-default' }),
    accepted: sized({ serviceAccountName: 'mine' }),
    message: 'service accounts of listeners are not for agents',
  },
];

export const CHANGES: readonly RefusedChange[] = [
  {
    what: 'source',
    before: image(),
    after: { source: 'internal_image' },
    message: 'source is immutable',
  },
  {
    what: 'name',
    before: { ...image(), name: 'Weather' },
    after: { name: 'Winds' },
    message: 'name is immutable',
  },
  {
    what: 'a name that was not given',
    before: image(),
    after: { name: 'Winds' },
    message: 'name is immutable',
  },
  {
    what: 'integrationId',
    before: git({ integrationId: ID }),
    after: { sourceConfig: { integrationId: OTHER_ID } },
    message: 'integrationId is immutable',
  },
  {
    what: 'repoUrl',
    before: git(),
    after: { sourceConfig: { repoUrl: 'https://git.example.org/b.git' } },
    message: 'repoUrl is immutable',
  },
  {
    what: 'deploymentType',
    before: git({ deploymentType: 'dev' }),
    after: { sourceConfig: { deploymentType: 'prod' } },
    message: 'deploymentType is immutable',
  },
  {
    what: 'listenerId',
    before: image({ listenerId: ID }),
    after: { sourceConfig: { listenerId: null } },
    message: 'listenerId is immutable',
  },
  {
    what: 'clusterNamespace',
    before: image({ listenerConfig: { clusterNamespace: 'x' } }),
    after: { sourceConfig: { listenerConfig: { clusterNamespace: 'y' } } },
    message: 'listenerConfig.clusterNamespace is immutable',
  },
];
