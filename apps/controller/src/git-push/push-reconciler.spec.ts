import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { formatGitIntegration, GIT_INTEGRATIONS } from '#lib/manifests';
import { AddressGuard } from '#lib/outbound';
import {
  type AgentDeployment,
  type AgentRevision,
  ANNOTATION,
  CUSTOM_RESOURCE_DEFINITIONS,
  findCondition,
  keyOf,
  NAMESPACES,
  RESOURCES,
  SECRET_TYPE,
  SECRETS,
} from '#lib/resources';
import {
  FakeClock,
  type GitRepository,
  type GitServer,
  gitServer,
  testEmbeddedKube,
  waitFor,
  testKubeClient,
} from '#lib/testing';
import { CommitLooks } from '../git-remote/commit-looks.js';
import { PushReconciler } from './push-reconciler.js';

const namespace = 'ws-a';
const PERIOD_MS = 60_000;
const integration = randomUUID();
const guard = new AddressGuard({ allowPrivate: true, refuse: (why) => new Error(why) });

function aRevision(
  number: number,
  { id = randomUUID(), ...status }: { readonly id?: string; readonly [name: string]: unknown },
): AgentRevision {
  const metadata = { namespace, name: `d-${number}`, annotations: { [ANNOTATION.id]: id } };
  return { metadata, spec: { number }, status } as unknown as AgentRevision;
}

describe('PushReconciler', () => {
  const server = testEmbeddedKube();
  const client = testKubeClient(server);
  let git: GitServer;
  let made = 0;

  beforeAll(async () => {
    git = await gitServer();
    const crds = join(process.cwd(), 'crds');
    for (const file of readdirSync(crds).filter((name) => name.includes('agentdeployments')))
      await client.create(CUSTOM_RESOURCE_DEFINITIONS, parse(readFileSync(join(crds, file), 'utf8')));
    await client.create(NAMESPACES, { metadata: { name: namespace } });
    await waitFor(() =>
      client.list(RESOURCES.AgentDeployment).then(
        () => true,
        () => false,
      ),
    );
    await client.create(SECRETS, {
      metadata: { name: GIT_INTEGRATIONS, namespace },
      type: SECRET_TYPE.gitIntegrations,
      data: { [integration]: formatGitIntegration({ name: 'ours', host: git.host, token: 'x', ca: git.ca }) },
    });
  });
  afterAll(async () => {
    await git.close();
  });
  afterEach(() => git.fail(undefined));

  /** A deployment of a repository, and a controller that has it and its only revision in its caches. */
  const newDeployment = async (revisionOf?: string) => {
    const name = `d-${made++}`;
    const repository: GitRepository = await git.repository(name);
    const first = await repository.commit({ 'a.txt': '1' });
    let current = await client.create<AgentDeployment>(RESOURCES.AgentDeployment, {
      metadata: { namespace, name },
      spec: {
        source: 'git_host',
        suspend: false,
        revisionHistoryLimit: 10,
        sourceConfig: { repoUrl: repository.url, integrationId: integration, buildOnPush: true },
        sourceRevisionConfig: { repoRef: 'main', graphConfigPath: 'langgraph.json' },
      },
    });
    const key = keyOf(current);
    const revisions = [aRevision(1, { repoCommitSha: revisionOf ?? first })];
    let between: (() => Promise<void>) | undefined;
    /** Runs between the request for a revision and the report. */
    const interfere = (act: typeof between): void => void (between = act);
    const clock = new FakeClock();
    const events: string[] = [];
    const read = async (): Promise<AgentDeployment> =>
      (current = await client.get<AgentDeployment>(RESOURCES.AgentDeployment, key));
    const seenNow = async (object: AgentDeployment): Promise<void> => {
      current = object;
      await between?.();
    };
    const reconciler = new PushReconciler({
      client,
      clock,
      guard,
      looks: new CommitLooks(clock),
      periodMs: PERIOD_MS,
      events: { record: (_kind, _object, { message }) => void events.push(message) },
      deployments: { find: () => current, list: () => [current], seen: seenNow },
      revisions: {
        ownedBy: ({ metadata }) =>
          revisions.map((one) => ({ ...one, spec: { ...one.spec, deploymentName: metadata.name } })),
      },
    });
    /** Looks once more. */
    const look = async (): Promise<AgentDeployment> => {
      await clock.advance(2 * PERIOD_MS);
      await reconciler.reconcile(key);
      return await read();
    };
    return { repository, first, key, clock, events, reconciler, look, read, revisions, interfere };
  };
  const conditionOf = (deployment: AgentDeployment) =>
    findCondition(deployment.status?.conditions, 'PushesFollowed');

  it('asks for a revision once a branch is pushed, and once for each push', async () => {
    const { repository, first, look, events } = await newDeployment();
    const before = await look();
    expect(before.spec.revisionRequest).toBeUndefined();
    expect(conditionOf(before)).toMatchObject({ status: 'True', reason: 'UpToDate' });
    expect(before.status?.push).toMatchObject({ ref: 'main', commit: first });

    const commit = await repository.commit({ 'a.txt': '2' });
    const asked = await look();
    expect(asked.spec.revisionRequest?.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(asked.status?.push).toMatchObject({ ref: 'main', commit });
    expect(conditionOf(asked)?.message).toMatch(
      new RegExp(`^main was at ${commit} when it was looked at, \\S+Z; building it$`),
    );
    expect(events).toEqual([`main is at ${commit}; building it`]);
  });

  it('looks before its time once a push was announced, and again at the next one alone', async () => {
    const { repository, look, key, read, reconciler } = await newDeployment();
    await look();
    const commit = await repository.commit({ 'a.txt': '2' });
    const hear = async (mark: string): Promise<AgentDeployment> => {
      const annotations = { [ANNOTATION.pushHeard]: mark };
      await client.merge(RESOURCES.AgentDeployment, key, { metadata: { annotations } });
      await read();
      await reconciler.reconcile(key);
      return await read();
    };
    await reconciler.reconcile(key);
    expect((await read()).spec.revisionRequest).toBeUndefined();
    const asked = await hear('1');
    expect(asked.status?.push).toMatchObject({ commit });
    expect(asked.spec.revisionRequest?.id).toMatch(/^[0-9a-f-]{36}$/);
    const before = git.requests.length;
    await hear('1');
    expect(git.requests.length).toBe(before);
  });

  it('inherits no revision to repeat from an earlier request', async () => {
    const { repository, look, key, read } = await newDeployment();
    await look();
    const fromRevisionId = randomUUID();
    const id = randomUUID();
    await client.merge(RESOURCES.AgentDeployment, key, { spec: { revisionRequest: { id, fromRevisionId } } });
    await client.mergeStatus(RESOURCES.AgentDeployment, key, { status: { handledRevisionRequestId: id } });
    await read();
    await repository.commit({ 'a.txt': '2' });
    const { revisionRequest } = (await look()).spec;
    expect(revisionRequest?.id).not.toBe(id);
    expect(revisionRequest?.fromRevisionId).toBeUndefined();
  });

  it('notes a branch that was never seen, and builds it from the next push on', async () => {
    const { first, look, repository } = await newDeployment('c'.repeat(40));
    const noted = await look();
    expect([noted.spec.revisionRequest, noted.status?.push?.commit]).toEqual([undefined, first]);
    expect(conditionOf(noted)?.message).toMatch(/; the newest revision is of another commit, and later/);
    await repository.commit({ 'a.txt': '2' });
    expect((await look()).spec.revisionRequest).toBeDefined();
  });

  it('asks for one revision of a push, though noting it fails', async () => {
    const { repository, look, key, read, clock, reconciler, revisions, interfere } = await newDeployment();
    await look();
    const commit = await repository.commit({ 'a.txt': '2' });
    // the revision is made at once, and another writer's status precedes the report
    interfere(async () => {
      const status = { handledRevisionRequestId: randomUUID() };
      await client.mergeStatus(RESOURCES.AgentDeployment, key, { status });
    });
    await clock.advance(2 * PERIOD_MS);
    await expect(reconciler.reconcile(key)).rejects.toThrow(/modified|conflict/i);
    const { revisionRequest, ...rest } = (await read()).spec;
    expect(revisionRequest?.id).toBeDefined();
    revisions.push(aRevision(2, { id: revisionRequest?.id ?? '' }));
    await reconciler.reconcile(key);
    // it came to its end before it had a commit
    const conditions = [{ type: 'Built', status: 'False', reason: 'RefNotFound', message: '' }];
    revisions.splice(1, 1, aRevision(2, { id: revisionRequest?.id ?? '', conditions }));
    await expect(reconciler.reconcile(key)).rejects.toThrow(/modified|conflict/i);
    expect((await read()).spec.revisionRequest?.id).toBe(revisionRequest?.id);
    interfere(undefined);
    expect((await look()).status?.push?.commit).toBe(commit);
    expect((await read()).spec).toMatchObject({ ...rest, revisionRequest: { id: revisionRequest?.id } });
  });

  it('keeps what it saw while a deployment is suspended that repeats an earlier commit', async () => {
    const { repository, look, key, read, revisions, first } = await newDeployment();
    await look();
    const commit = await repository.commit({ 'a.txt': '2' });
    const { revisionRequest } = (await look()).spec;
    revisions.push(
      aRevision(2, { repoCommitSha: commit, id: revisionRequest?.id ?? '' }),
      aRevision(3, { repoCommitSha: first }),
    );
    for (const suspend of [true, false]) {
      await client.merge(RESOURCES.AgentDeployment, key, { spec: { suspend } });
      await read();
      const after = await look();
      expect([after.spec.revisionRequest, after.status?.push?.commit]).toEqual([revisionRequest, commit]);
      expect(conditionOf(after) === undefined).toBe(suspend);
    }
  });

  it('looks at once at another branch, and builds what was pushed after its first revision', async () => {
    const { repository, look, key, read, revisions, reconciler } = await newDeployment();
    await look();
    const first = await repository.commit({ 'a.txt': '2' }, 'next');
    const changed = { sourceRevisionConfig: { repoRef: 'next' } };
    await client.merge(RESOURCES.AgentDeployment, key, { spec: changed });
    await read();
    const commit = await repository.commit({ 'a.txt': '3' }, 'next');
    const { repoUrl = '' } = (await read()).spec.sourceConfig;
    const git = { repoUrl, repoRef: 'next', graphConfigPath: 'langgraph.json', buildOnPush: true };
    revisions.push({ ...aRevision(2, { repoCommitSha: first }), spec: { number: 2, git } } as AgentRevision);
    await reconciler.reconcile(key);
    const asked = await read();
    expect(asked.spec.revisionRequest).toBeDefined();
    expect(asked.status?.push).toMatchObject({ ref: 'next', commit, revision: 2 });
  });

  it('asks once more for a push whose revision found no commit', async () => {
    const { repository, look, clock, revisions } = await newDeployment();
    await look();
    await repository.commit({ 'a.txt': '2' });
    const { revisionRequest, sourceConfig } = (await look()).spec;
    const { repoUrl = '' } = sourceConfig;
    const git = { repoUrl, repoRef: 'main', graphConfigPath: 'langgraph.json', buildOnPush: true };
    const conditions = [{ type: 'Built', status: 'False', reason: 'RepositoryUnavailable', message: '' }];
    const failed = aRevision(2, { id: revisionRequest?.id ?? '', conditions });
    const metadata = { ...failed.metadata, creationTimestamp: clock.now().toISOString() };
    revisions.push({ ...failed, metadata, spec: { number: 2, git } } as AgentRevision);
    const soon = await look();
    expect([soon.spec.revisionRequest?.id, soon.status?.push?.revision]).toEqual([revisionRequest?.id, 1]);
    await clock.advance(600_000);
    const again = await look();
    expect(again.spec.revisionRequest?.id).not.toBe(revisionRequest?.id);
    expect(again.status?.push?.revision).toBe(2);
    const { id } = again.spec.revisionRequest ?? {};
    revisions.push(aRevision(3, { id: id ?? '', repoCommitSha: again.status?.push?.commit }));
    expect((await look()).spec.revisionRequest?.id).toBe(id);
  });

  it('looks once in its period, however often it is asked', async () => {
    const { reconciler, key, look } = await newDeployment();
    await look();
    const before = git.requests.length;
    for (let at = 0; at < 5; at++) expect(await reconciler.reconcile(key)).toMatchObject({ kind: 'after' });
    expect(git.requests).toHaveLength(before);
  });

  it.each([
    [503, 'Unknown', 'RepositoryUnavailable'],
    [404, 'False', 'RepositoryRefused'],
  ])('reports a host that answers %d, and keeps what it saw', async (code, status, reason) => {
    const { look, first } = await newDeployment();
    await look();
    git.fail(code);
    const after = await look();
    expect(conditionOf(after)).toMatchObject({ status, reason });
    expect(after.status?.push?.commit).toBe(first);
  });

  it('forgets the branch once it is not followed', async () => {
    const { look, key, read } = await newDeployment();
    await look();
    await client.merge(RESOURCES.AgentDeployment, key, { spec: { sourceConfig: { buildOnPush: false } } });
    await read();
    const after = await look();
    expect([after.status?.push, conditionOf(after)]).toEqual([{ revision: 1 }, undefined]);
  });
});
