import { TerminalError, WaitingError } from '#lib/errors';
import type { AgentDeploymentStatus, Condition, Listener } from '#lib/resources';
import type { DeploymentWorld } from './observe.js';
import type { DeploymentDecision } from './decide.js';
import { type Outcome, revisionCondition, summarizeDeployment } from './summarize.js';
import { deployment, LISTENER, PROVISIONED, revision, world } from './testdata/sample-world.js';

const NOW = new Date('2026-01-01T00:00:00Z');
const SETTLED: DeploymentDecision = { kind: 'settled', lookAgainMs: 60_000 };
const DONE: Outcome = { kind: 'done' };

const wordsOf = ({ conditions = [] }: AgentDeploymentStatus): readonly string[] =>
  conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`);

describe('revisionCondition', () => {
  it.each([
    ['no revision yet', deployment(), undefined, 'Unknown/NoRevision'],
    [
      'no image yet',
      deployment({ source: 'internal_image', sourceRevisionConfig: {} }),
      undefined,
      'Unknown/AwaitingSource',
    ],
    [
      'no archive yet',
      deployment({ source: 'internal_source', sourceRevisionConfig: {} }),
      undefined,
      'Unknown/AwaitingSource',
    ],
    ['suspended', deployment({ suspend: true }), revision(1, 'Ready'), 'False/Suspended'],
    ['serving', deployment(), revision(1, 'Ready', 'Active'), 'True/Serving'],
    [
      'serving at an address that is not known yet',
      deployment(),
      { ...revision(1), status: { conditions: revision(1, 'Ready', 'Active').status?.conditions ?? [] } },
      'Unknown/Deploying',
    ],
    [
      'calls a revision that no listener took up unknown',
      deployment(),
      revision(1, 'Built'),
      'Unknown/AwaitingListener',
    ],
    ['on its way up', deployment(), revision(1, 'Ready/False/Deploying'), 'Unknown/Deploying'],
    ['lost its pods', deployment(), revision(1, 'Active', 'Ready/False/Deploying'), 'False/Deploying'],
    [
      'failed',
      deployment(),
      revision(1, 'Ready/False', 'Failed/True/GraphLoadFailed'),
      'False/GraphLoadFailed',
    ],
  ])('%s', (_, one, latest, expected) => {
    const { status, reason } = revisionCondition(one, latest);
    expect(`${status}/${reason}`).toBe(expected);
  });
});

describe('revisionCondition of a listener that fell silent', () => {
  const silent: Listener = {
    ...LISTENER,
    status: {
      conditions: [
        {
          type: 'HeartbeatFresh',
          status: 'False',
          reason: 'NoHeartbeat',
          message: 'last heartbeat at 12:00',
          lastTransitionTime: '',
        },
      ],
    },
  };

  it('reports which listener is silent, and what it reported last', () => {
    expect(revisionCondition(deployment(), revision(1, 'Ready', 'Active'), silent)).toEqual({
      type: 'RevisionReady',
      status: 'Unknown',
      reason: 'NoHeartbeat',
      message: 'Listener far: last heartbeat at 12:00; it reported last: a-1 serves',
    });
  });

  it('leaves a suspended deployment suspended', () => {
    const found = revisionCondition(deployment({ suspend: true }), revision(1, 'Ready'), silent);
    expect(found.reason).toBe('Suspended');
  });
});

describe('summarizeDeployment', () => {
  it('names the newest and the serving revision, and the address that the listener reports', () => {
    const serving = revision(1, 'Active', 'Ready');
    const revisions = [serving, revision(2)];
    const status = summarizeDeployment(world({ revisions }), SETTLED, DONE, NOW);
    expect(status).toMatchObject({
      observedGeneration: 3,
      activeRevisionName: 'a-1',
      activeRevisionId: 'id-1',
      latestRevisionName: 'a-2',
      url: 'http://a.ws-x.svc',
    });
    expect(Object.keys(status)).not.toContain('handledRevisionRequestId');
    const custom = deployment({ sourceConfig: { customUrl: 'https://mine' } });
    expect(summarizeDeployment(world({ deployment: custom, revisions }), SETTLED, DONE, NOW).url).toBe(
      'https://mine',
    );
  });

  it('reports Ready when the newest revision serves', () => {
    const status = summarizeDeployment(world({ revisions: [revision(1, 'Ready')] }), SETTLED, DONE, NOW);
    expect(wordsOf(status)).toEqual([
      'TracingProjectReady=True ProjectFound',
      'DatabaseReady=True DatabaseCreated',
      'RevisionReady=True Serving',
      'Ready=True Ready',
    ]);
  });

  it('names fields that have no effect, and is Ready all the same', () => {
    const asking = deployment({ sourceConfig: { resourceSpec: { cacheMemoryMb: 64, executorCpu: 1 } } });
    const summarized = summarizeDeployment(
      world({ deployment: asking, revisions: [revision(1, 'Ready')] }),
      SETTLED,
      DONE,
      NOW,
    );
    expect(wordsOf(summarized)).toEqual(
      expect.arrayContaining(['FieldsIgnored=True NoEffect', 'Ready=True Ready']),
    );
    expect(summarized.conditions?.find(({ type }) => type === 'FieldsIgnored')?.message).toBe(
      'cacheMemoryMb has no effect: a deployment has no cache of its own; ' +
        'executorCpu has no effect: the platform has no such workload',
    );
  });

  it.each<[string, Partial<DeploymentWorld>, RegExp | undefined]>([
    [
      'may have a server, before there is a database',
      { offersServers: true, database: undefined },
      undefined,
    ],
    ['has a server of its own', { database: { server: 'own', isCurrent: true, mark: undefined } }, undefined],
    ['began on the shared server', { offersServers: true }, /and is not moved/],
    ['runs where no servers are', {}, /that the platform shares or was given/],
    [
      'runs in another cluster',
      { offersServers: true, listener: { ...LISTENER, spec: { ...LISTENER.spec, remote: { apiUrl: 'u' } } } },
      /another cluster/,
    ],
  ])('judges the size of the database of a deployment that %s', (_what, more, because) => {
    const asking = deployment({ sourceConfig: { resourceSpec: { dbStorageGi: 4 } } });
    const status = summarizeDeployment(world({ deployment: asking, ...more }), SETTLED, DONE, NOW);
    const ignored = status.conditions?.find(({ type }) => type === 'FieldsIgnored')?.message;
    if (because) expect(ignored).toMatch(because);
    else expect(ignored).toBeUndefined();
  });

  it('names Secrets of registries where pods are processes, and not those of a listener elsewhere', () => {
    const asking = deployment({ sourceConfig: { resourceSpec: { imagePullSecrets: [{ name: 'r' }] } } });
    const elsewhere = { ...LISTENER, spec: { ...LISTENER.spec, remote: { apiUrl: 'u' } } };
    const ignored = (more: Partial<DeploymentWorld>) =>
      summarizeDeployment(world({ deployment: asking, ...more }), SETTLED, DONE, NOW).conditions?.find(
        ({ type }) => type === 'FieldsIgnored',
      )?.message;
    expect(ignored({ runsProcesses: true })).toMatch(/^imagePullSecrets has no effect/);
    expect(ignored({ runsProcesses: true, listener: elsewhere })).toBeUndefined();
    expect(ignored({})).toBeUndefined();
  });

  it('names the connections of the database where the server has fewer than were asked for', () => {
    const asking = deployment({ sourceConfig: { resourceSpec: { dbMaxConnections: 10_000 } } });
    const summarized = (connections?: number) =>
      summarizeDeployment(
        world({
          deployment: asking,
          database: { server: 'shared', isCurrent: true, mark: undefined, connections },
        }),
        SETTLED,
        DONE,
        NOW,
      );
    const messageWith = (connections?: number): string | undefined =>
      summarized(connections).conditions?.find(({ type }) => type === 'DatabaseReady')?.message;
    expect(messageWith(59)).toMatch(/59 connections at most instead of 10000: .*; lower dbMaxConnections/);
    expect(messageWith()).toBe('database exists');
    expect([summarized(59), summarized()].map((status) => status.databaseConnections)).toEqual([
      59,
      undefined,
    ]);
  });

  it('has no address before a revision served', () => {
    expect(summarizeDeployment(world({ revisions: [revision(1)] }), SETTLED, DONE, NOW).url).toBeUndefined();
  });

  it('marks a request handled once it is met or rejected', () => {
    const revisionRequest = { id: 'ID-1' };
    const asked = world({ deployment: deployment({ revisionRequest }), revisions: [revision(2)] });
    const handled = (decision: DeploymentDecision, one = asked) =>
      summarizeDeployment(one, decision, DONE, NOW).handledRevisionRequestId;
    expect(handled(SETTLED)).toBeUndefined();
    const met = { ...revision(1), metadata: { name: 'a-1', uid: 'id-1' } };
    expect(handled(SETTLED, { ...asked, revisions: [met] })).toBe('ID-1');
    expect(handled({ kind: 'reject-request', requestId: 'id-1', reason: 'R', message: '' })).toBe('id-1');
  });

  it('handles a generation only when nothing is left to do for it', () => {
    const fresh = world({ deployment: deployment({}, {}, {}) });
    const status = summarizeDeployment(
      fresh,
      { kind: 'ensure-project', tenantId: 't' },
      { kind: 'done', projectId: 'p' },
      NOW,
    );
    expect([status.observedGeneration, status.tracingProjectId]).toEqual([undefined, 'p']);
    expect(wordsOf(status)).toEqual(['TracingProjectReady=True ProjectFound', 'Ready=Unknown Pending']);
    // what was ensured for this generation is not ensured again
    expect(status.conditions?.[0]?.observedGeneration).toBe(3);
  });

  it('drops what comes after a refusal', () => {
    const refusal = { type: 'TracingProjectReady', reason: 'NameTaken', message: 'm' } as const;
    const status = summarizeDeployment(world(), { kind: 'refuse', refusal, lookAgainMs: 1 }, DONE, NOW);
    expect(wordsOf(status)).toEqual(['TracingProjectReady=False NameTaken', 'Ready=False NameTaken']);
    expect(status.observedGeneration).toBe(3);
  });
});

describe('summarizeDeployment after a failure', () => {
  const BROKEN = new Error('connect ECONNREFUSED 10.0.0.1');
  const NOT_OURS = new TerminalError('NotOurs', 'Secret x belongs to another owner');
  const serving: Condition = {
    type: 'RevisionReady',
    status: 'True',
    reason: 'Serving',
    message: '',
    lastTransitionTime: '',
  };
  const wasReady = { ...PROVISIONED, conditions: [...(PROVISIONED?.conditions ?? []), serving] };
  const after = (
    status: AgentDeploymentStatus,
    kind: 'ensure-project' | 'ensure-key-and-database',
    error: Error,
  ) =>
    summarizeDeployment(
      world({ deployment: deployment({}, {}, status) }),
      kind === 'ensure-project' ? { kind, tenantId: 't' } : { kind, tenantId: 't', mayHaveServer: true },
      { kind: 'failed', error },
      NOW,
    );

  it('calls a new deployment unknown, without the text of the error', () => {
    const status = after({}, 'ensure-project', BROKEN);
    expect(wordsOf(status)).toEqual(['TracingProjectReady=Unknown Progressing', 'Ready=Unknown Progressing']);
    expect(JSON.stringify(status)).not.toContain('10.0.0.1');
    expect(status.observedGeneration).toBeUndefined();
  });

  it('makes nothing untrue because of a transient error', () => {
    expect(wordsOf(after(wasReady, 'ensure-key-and-database', BROKEN))).toEqual([
      'TracingProjectReady=True ProjectFound',
      'DatabaseReady=True R',
      'RevisionReady=True Serving',
      'Ready=True Ready',
    ]);
  });

  it('reports what it waits for, although that existed before', () => {
    const starting = new WaitingError('DatabaseStarting', 'waiting for Postgres', 2_000);
    expect(wordsOf(after(wasReady, 'ensure-key-and-database', starting))).toEqual([
      'TracingProjectReady=True ProjectFound',
      'DatabaseReady=False DatabaseStarting',
      'RevisionReady=True Serving',
      'Ready=False DatabaseStarting',
    ]);
  });

  it('reports what a person must change', () => {
    const status = after(wasReady, 'ensure-key-and-database', NOT_OURS);
    expect(wordsOf(status)).toEqual([
      'TracingProjectReady=True ProjectFound',
      'DatabaseReady=False NotOurs',
      'RevisionReady=True Serving',
      'Ready=False NotOurs',
    ]);
    expect(status.observedGeneration).toBe(3);
  });
});
