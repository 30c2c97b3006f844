import { formatTerminationMessage, IMAGE_PUSHED } from '#lib/lifecycle';
import { GIT_INTEGRATIONS, gitBuildPlace, type ImageRegistry } from '#lib/manifests';
import { AddressGuard } from '#lib/outbound';
import {
  type AgentRevision,
  type Job,
  JOBS,
  NAMESPACES,
  type Pod,
  PODS,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import { FakeClock, testEmbeddedKube, testKubeClient } from '#lib/testing';
import { CommitLooks } from '../git-remote/commit-looks.js';
import { type BuildFinding, BuildingRevisions, GitBuilds } from './git-builds.js';
import { pushedImage } from './open-git-builds.js';
import { gitRevision } from './testdata/git-revision.js';

const BUILDS = 'agentplane-builds';
const images: ImageRegistry = {
  namespace: BUILDS,
  prefix: 'registry.example.com/agents',
  pushSecret: 'push',
  isInsecure: false,
};
const ID = '0a1b2c3d-0000-4000-8000-00000000000e';
const DIGEST = `sha256:${'d'.repeat(64)}`;

describe('GitBuilds with a registry', () => {
  const server = testEmbeddedKube();
  const client = testKubeClient(server);
  const clock = new FakeClock(new Date('2026-05-01T12:00:00Z'));
  let jobs: readonly Job[] = [];

  beforeAll(async () => {
    for (const name of ['ws-a', BUILDS]) {
      await client.create(NAMESPACES, { metadata: { name } });
      await client.create(SERVICE_ACCOUNTS, { metadata: { namespace: name, name: 'default' } });
    }
    const integration = { name: 'host', host: 'git.example.org', token: 'the-token' };
    await client.create(SECRETS, {
      metadata: { namespace: 'ws-a', name: GIT_INTEGRATIONS },
      data: { [ID]: Buffer.from(JSON.stringify(integration)).toString('base64') },
    });
  });

  const newBuilds = (): GitBuilds =>
    new GitBuilds({
      client,
      clock,
      images,
      guard: new AddressGuard({ allowPrivate: false, refuse: (why) => new Error(why) }),
      looks: new CommitLooks(clock),
      limits: {
        places: 2,
        timeoutMs: 900_000,
        memoryMb: 2048,
        imageMb: 100,
        registry: undefined,
        pythonIndex: undefined,
      },
      settings: { version: '1.0.0', apiUrl: 'http://api', addresses: 'cluster-dns' },
      revisions: new BuildingRevisions({ byIndex: () => [], addIndex: () => undefined }),
      jobs: { find: () => undefined, list: () => [...jobs] },
      takeImage: pushedImage(images),
    });

  const revisionOf = (name: string, status: object = {}): AgentRevision => {
    const revision = gitRevision(name, { status, age: 3_540 });
    const git = { ...revision.spec.git, integrationId: ID } as AgentRevision['spec']['git'];
    return { ...revision, spec: { ...revision.spec, ...(git ? { git } : {}) } };
  };
  const begun = { build: { startedAt: '2026-05-01T12:00:00.000Z' } };

  /** One pass. */
  const pass = async (revision: AgentRevision, builds = newBuilds()): Promise<readonly BuildFinding[]> => {
    const findings: BuildFinding[] = [];
    await builds.reconcile(revision, undefined, (finding) => {
      findings.push(finding);
      return Promise.resolve();
    });
    return findings;
  };
  const addLogin = async (): Promise<void> => {
    const key = { namespace: BUILDS, name: 'push' };
    if (await client.find(SECRETS, key)) return;
    await client.create(SECRETS, { metadata: key, data: {} });
  };
  /** Ends the pod like the cluster does, once all containers have ended. */
  const end = async (revision: AgentRevision, message: string): Promise<void> => {
    const place = gitBuildPlace(revision, images);
    const name = `${place.name}-pod`;
    await client.create<Pod>(PODS, {
      metadata: { namespace: BUILDS, name, labels: { 'batch.kubernetes.io/job-name': place.name } },
      spec: { containers: [{ name: 'push', image: 'x' }] },
    });
    const terminated = { exitCode: 0, message };
    const status = {
      name: 'push',
      ready: false,
      restartCount: 0,
      image: 'x',
      imageID: 'x',
      state: { terminated },
    };
    await client.mergeStatus(
      PODS,
      { namespace: BUILDS, name },
      {
        status: { phase: 'Succeeded', containerStatuses: [status] },
      },
    );
    await client.mergeStatus(JOBS, place, {
      status: { conditions: [{ type: 'Complete', status: 'True' }] },
    });
  };

  it('waits for the login of the registry, and names the Secret', async () => {
    const revision = revisionOf('early', begun);
    const [finding] = await pass(revision);
    expect(finding?.draft).toMatchObject({
      status: 'Unknown',
      message: `Secret push with the login of the registry does not exist in namespace ${BUILDS}; create it there`,
    });
    expect(await client.find(JOBS, gitBuildPlace(revision, images))).toBeUndefined();
  });

  it('makes the Job apart from the workspace, and the token a part of the Job', async () => {
    await addLogin();
    const revision = revisionOf('begins');
    const findings = await pass(revision);
    expect(findings).toMatchObject([{ build: begun.build, draft: { reason: 'AwaitingBuild' } }]);
    const place = gitBuildPlace(revision, images);
    const job = await client.get(JOBS, place);
    const secret = await client.get(SECRETS, place);
    expect(Buffer.from(secret.data?.['token'] ?? '', 'base64').toString()).toBe('the-token');
    expect(secret.metadata.ownerReferences).toMatchObject([{ kind: 'Job', uid: job.metadata.uid }]);
    expect((await client.list(JOBS, { namespace: 'ws-a' })).items).toEqual([]);
  });

  it('makes what a controller that ended between Job and Secret left out', async () => {
    await addLogin();
    const revision = revisionOf('cut', begun);
    const place = gitBuildPlace(revision, images);
    await pass(revision);
    await client.delete(SECRETS, place);
    await client.delete(JOBS, place, { propagation: 'Background' });
    await pass(revision);
    const [job, secret] = [await client.get(JOBS, place), await client.get(SECRETS, place)];
    expect(secret.metadata.ownerReferences).toMatchObject([{ uid: job.metadata.uid }]);
  });

  it('takes the digest that was pushed, and clears away', async () => {
    await addLogin();
    const revision = revisionOf('pushed', begun);
    await pass(revision);
    const image = `registry.example.com/agents/ws-a/pushed@${DIGEST}`;
    await end(revision, formatTerminationMessage({ reason: IMAGE_PUSHED, message: image }));
    const [finding] = await pass(revision);
    expect(finding).toMatchObject({ image, draft: { status: 'True', reason: 'Image' } });
    const place = gitBuildPlace(revision, images);
    expect(await client.find(SECRETS, place)).toBeUndefined();
    expect(await client.find(JOBS, place)).toBeUndefined();
  });

  it('takes no image of another repository', async () => {
    await addLogin();
    const revision = revisionOf('strange', begun);
    await pass(revision);
    const image = `registry.example.com/agents/ws-b/strange@${DIGEST}`;
    await end(revision, formatTerminationMessage({ reason: IMAGE_PUSHED, message: image }));
    const [finding] = await pass(revision);
    expect(finding?.image).toBeUndefined();
    expect(finding?.draft).toMatchObject({ status: 'False', reason: 'BuildFailed' });
    expect(finding?.draft.message).toContain('without an image in registry.example.com/agents/ws-a/strange');
  });

  it('removes the Job of a revision that does not exist any more, and no other', async () => {
    await addLogin();
    const [gone, stays] = [revisionOf('gone', begun), revisionOf('stays', begun)];
    for (const revision of [gone, stays]) await pass(revision);
    jobs = (await client.list(JOBS, { namespace: BUILDS })).items;
    await newBuilds().abandon({ namespace: 'ws-a', name: gone.metadata.name });
    expect(await client.find(JOBS, gitBuildPlace(gone, images))).toBeUndefined();
    expect(await client.find(JOBS, gitBuildPlace(stays, images))).toBeDefined();
  });
});
