import type { AgentRevision, Job, PodContainer } from '#lib/resources';
import { buildGitJob, buildGitSecret, type GitBuild } from './git-build.js';
import { gitBuildPlace, type ImageRegistry, revisionOfBuild } from './git-build-pod.js';
import type { PlatformSettings } from './platform-settings.js';

const revision = {
  apiVersion: 'agentplane.dev/v1alpha1',
  kind: 'AgentRevision',
  metadata: { name: 'a-00001', namespace: 'ws-x', uid: '0a1b2c3d-0000-4000-8000-00000000000e' },
  spec: {
    source: 'git_host',
    deploymentName: 'a',
    listenerName: 'default',
    git: {
      repoUrl: 'https://git.example.org/a.git',
      graphConfigPath: 'langgraph.json',
      installCommand: 'echo $HOME',
    },
  },
} as unknown as AgentRevision;

const MACHINE: PlatformSettings = { version: '1.0.0', apiUrl: 'http://api', addresses: 'loopback' };
const CLUSTER: PlatformSettings = {
  ...MACHINE,
  addresses: 'cluster-dns',
  imagePrefix: 'registry.example.com/platform/',
  imagePullSecrets: ['platform-registry'],
  pods: { nodeSelector: { pool: 'p' }, priorityClassName: 'system-cluster-critical' },
};
const images: ImageRegistry = {
  namespace: 'builds',
  prefix: 'registry.example.com/agents',
  pushSecret: 'push',
  isInsecure: false,
};
const build: GitBuild = {
  revision,
  commit: 'c'.repeat(40),
  timeoutMs: 900_000,
  memoryMb: 2048,
  imageMb: 100,
  login: { token: 'secret' },
};

const pod = (job: Job) => job.spec.template.spec;
const named = (job: Job, name: string): PodContainer | undefined =>
  [...(pod(job).initContainers ?? []), ...pod(job).containers].find((one) => one.name === name);
const variables = (container: PodContainer | undefined): readonly string[] =>
  (container?.env ?? []).map(({ name }) => name);
const order = (job: Job): readonly (readonly string[])[] =>
  [pod(job).initContainers ?? [], pod(job).containers].map((all) => all.map(({ name }) => name));

describe('buildGitJob on one machine', () => {
  const job = buildGitJob(build, MACHINE);

  it('fetches an archive with the key of its deployment, in the first container', () => {
    const { git: _git, ...spec } = revision.spec;
    const path = 'deployments/a/archives/b';
    const archive = { path, graphConfigPath: 'sub/langgraph.json', buildCommand: 'make' };
    const of = { ...revision, spec: { ...spec, archive } };
    const made = buildGitJob({ ...build, revision: of, commit: undefined }, MACHINE);
    expect(named(made, 'build')?.env).toEqual(
      expect.arrayContaining([
        { name: 'AGENTPLANE_BUILD_ARCHIVE', value: `http://api/v2/${path}` },
        { name: 'AGENTPLANE_BUILD_GRAPH_CONFIG', value: 'sub/langgraph.json' },
        { name: 'AGENTPLANE_BUILD_COMMAND', value: 'make' },
      ]),
    );
    expect(variables(named(made, 'fetch'))).toContain('AGENTPLANE_GIT_TOKEN');
    expect(variables(named(made, 'build'))).not.toContain('AGENTPLANE_GIT_TOKEN');
    expect(variables(named(made, 'build'))).not.toContain('AGENTPLANE_BUILD_COMMIT');
  });

  it('lies beside its revision, which owns it', () => {
    expect(job.metadata).toMatchObject({ name: 'a-00001-build', namespace: 'ws-x' });
    expect(job.metadata.ownerReferences).toMatchObject([{ kind: 'AgentRevision', name: 'a-00001' }]);
    expect(revisionOfBuild(job)).toBeUndefined();
  });
  it('ends with the container that builds', () => {
    expect(order(job)).toEqual([['fetch'], ['build']]);
    expect(variables(named(job, 'build'))).not.toContain('AGENTPLANE_GIT_TOKEN');
  });
});

describe('buildGitJob on a cluster', () => {
  const job = buildGitJob({ ...build, images }, CLUSTER);
  const all = [...(pod(job).initContainers ?? []), ...pod(job).containers];

  it('lies in the namespace of builds, by the uid of its revision, whose key it knows', () => {
    expect(job.metadata).toMatchObject({
      name: 'build-0a1b2c3d00004000800000000000000e',
      namespace: 'builds',
    });
    expect(job.metadata.ownerReferences).toBeUndefined();
    expect(revisionOfBuild(job)).toEqual({ namespace: 'ws-x', name: 'a-00001' });
    expect(job.spec.ttlSecondsAfterFinished).toBeGreaterThan(3_600);
    expect(gitBuildPlace(revision, images).name).toBe(job.metadata.name);
  });
  it('pushes once commands of the repository have ended', () => {
    expect(order(job)).toEqual([['fetch', 'build'], ['push']]);
  });
  it('gives each secret to one container', () => {
    const mounts = all.filter(({ volumeMounts }) => volumeMounts?.some(({ name }) => name === 'login'));
    expect(mounts.map(({ name }) => name)).toEqual(['push']);
    const withToken = all.filter((one) => variables(one).includes('AGENTPLANE_GIT_TOKEN'));
    expect(withToken.map(({ name }) => name)).toEqual(['fetch']);
    expect(pod(job).automountServiceAccountToken).toBe(false);
    const [fetch] = all;
    const token = fetch?.env?.find(({ name }) => name === 'AGENTPLANE_GIT_TOKEN');
    // the Secret is made after the Job: the container has to wait for it
    expect(token?.valueFrom?.secretKeyRef).toMatchObject({ key: 'token', optional: false });
    expect(variables(fetch)).not.toContain('AGENTPLANE_GIT_CA');
  });
  it('does not let the container that pushes change what was built', () => {
    const mount = named(job, 'push')?.volumeMounts?.find(({ name }) => name === 'work');
    expect(mount).toMatchObject({ mountPath: '/build', readOnly: true });
  });
  it('shares nothing else with commands: Node would run what they leave in its cache of compiled code', () => {
    const volumesOf = (name: string) => named(job, name)?.volumeMounts?.map((mount) => mount.name) ?? [];
    const ofCommands = volumesOf('build');
    expect(volumesOf('push').filter((volume) => ofCommands.includes(volume))).toEqual(['work']);
    expect(named(job, 'push')?.volumeMounts).toContainEqual({ name: 'push-tmp', mountPath: '/tmp' });
  });
  it('satisfies the restricted Pod Security Standard', () => {
    expect(pod(job).securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 10001,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const { securityContext } of all)
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    for (const volume of pod(job).volumes ?? [])
      expect(Object.keys(volume).filter((key) => key !== 'name')).toEqual([
        expect.stringMatching(/^(emptyDir|secret)$/),
      ]);
  });
  it('runs where pods of the platform do, with the keys of its registry and without its priority', () => {
    expect(pod(job)).toMatchObject({
      nodeSelector: { pool: 'p' },
      imagePullSecrets: [{ name: 'platform-registry' }],
    });
    expect(pod(job).priorityClassName).toBeUndefined();
    for (const { image } of all) expect(image).toBe('registry.example.com/platform/agentplane/builder:1.0.0');
  });
  it('names the repository of the deployment and the bases of its own version, or those that are set', () => {
    const settings = (registry: ImageRegistry) => {
      const push = named(buildGitJob({ ...build, images: registry }, CLUSTER), 'push');
      return Object.fromEntries((push?.env ?? []).map(({ name, value }) => [name, value]));
    };
    expect(settings(images)).toMatchObject({
      AGENTPLANE_PUSH_REPOSITORY: 'registry.example.com/agents/ws-x/a',
      AGENTPLANE_PUSH_BASE: 'registry.example.com/platform/agentplane/agent:1.0.0',
      AGENTPLANE_PUSH_PYTHON_BASE: 'registry.example.com/platform/agentplane/agent-python:1.0.0',
      AGENTPLANE_PUSH_AUTH_FILE: '/login/config.json',
      AGENTPLANE_BUILD_INSTALL: 'echo $$HOME',
    });
    expect(settings({ ...images, pushSecret: undefined, isInsecure: true, base: 'b:1' })).toMatchObject({
      AGENTPLANE_PUSH_BASE: 'b:1',
      AGENTPLANE_PUSH_INSECURE: 'true',
    });
    expect(settings({ ...images, pushSecret: undefined })).not.toHaveProperty('AGENTPLANE_PUSH_AUTH_FILE');
  });
  it('owns its Secret, which goes with it', () => {
    const made = { ...job, metadata: { ...job.metadata, uid: 'u' } };
    const { metadata, type } = buildGitSecret({ ...build, images }, made);
    expect(type).toBe('agentplane.dev/build-login');
    expect(metadata).toMatchObject({
      name: job.metadata.name,
      namespace: 'builds',
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: job.metadata.name, uid: 'u' }],
    });
  });
});
