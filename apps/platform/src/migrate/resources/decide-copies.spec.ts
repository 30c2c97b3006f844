import { ANNOTATION, LISTENER_KEY_TYPE } from '#lib/resources';
import {
  type CopyTarget,
  decideCopies,
  type WorkspaceContent,
  type WorkspaceCopies,
} from './copy-resources.js';

const FROM = 'c0000000-0000-4000-8000-000000000000';
const TARGET: CopyTarget = { name: 'moved', from: FROM, imagePrefix: undefined };
const AT = { namespace: 'ws-default', uid: 'u1' };

function content(parts: object): WorkspaceContent {
  return {
    workspace: {
      metadata: { name: 'default', uid: 'w1' },
      spec: { tenantId: 't', plan: 'enterprise' },
    },
    secrets: [],
    listeners: [],
    destinations: [],
    deployments: [],
    revisions: [],
    exports: [],
    ...parts,
  } as unknown as WorkspaceContent;
}

const decide = (parts: object, target: Partial<CopyTarget> = {}): WorkspaceCopies =>
  decideCopies(content(parts), { ...TARGET, ...target });

const deployment = (spec: object = {}, metadata: object = {}) => ({
  metadata: { ...AT, name: 'agent', ...metadata },
  spec: {
    source: 'internal_image',
    sourceConfig: {},
    suspend: false,
    sourceRevisionConfig: { imageUri: 'agent:1' },
    ...spec,
  },
});
const schedule = (spec: object = {}, status: object = {}) => ({
  metadata: { ...AT, name: 'hourly' },
  spec: { startTime: '2026-01-01T00:00:00Z', intervalHours: 1, suspend: false, cancel: false, ...spec },
  status,
});
const secret = (name: string, more: object = {}, metadata: object = {}) => ({
  metadata: { ...AT, name, ...metadata },
  ...more,
});
const namesOf = ({ objects }: WorkspaceCopies) => objects.map(({ draft }) => draft.metadata.name);

describe('decideCopies', () => {
  it('marks the workspace as being copied, under its new name', () => {
    const { workspace, namespace } = decide({});
    expect(workspace).toEqual({
      metadata: {
        name: 'moved',
        annotations: {
          [ANNOTATION.id]: 'w1',
          [ANNOTATION.copiedFrom]: FROM,
          [ANNOTATION.copying]: 'true',
        },
      },
      spec: { tenantId: 't', plan: 'enterprise' },
    });
    expect(namespace).toBe('ws-moved');
  });

  it('suspends a deployment, and leads it into the namespace of the copy', () => {
    const { objects } = decide({
      deployments: [deployment({ sourceConfig: { listenerConfig: { clusterNamespace: 'ws-default' } } })],
    });
    expect(objects[0]?.draft).toMatchObject({
      metadata: { name: 'agent', namespace: 'ws-moved' },
      spec: {
        suspend: true,
        source: 'internal_image',
        sourceConfig: { listenerConfig: { clusterNamespace: 'ws-moved' } },
      },
    });
  });

  it('names the image of a deployment by the prefix, as a cluster pulls it', () => {
    const { objects, notes } = decide({ deployments: [deployment()] }, { imagePrefix: 'r.example/' });
    expect(objects[0]?.draft).toMatchObject({
      spec: { source: 'external_image', sourceRevisionConfig: { imageUri: 'r.example/agent:1' } },
    });
    expect(notes).toContainEqual(expect.stringContaining('push r.example/agent:1 for deployment agent'));
  });

  it('shows the name of an image without what a terminal obeys', () => {
    const one = deployment({ sourceRevisionConfig: { imageUri: 'agent\u001b[2J\n- done:1' } });
    const { notes } = decide({ deployments: [one] }, { imagePrefix: 'r.example/' });
    expect(notes).toContainEqual(expect.stringContaining('push r.example/agent\\u001b[2J - done:1 for'));
  });

  it('keeps what people wrote on an object and what it was requested with, and nothing else', () => {
    const annotations = {
      note: 'kept',
      [ANNOTATION.requestKey]: 'k',
      [ANNOTATION.database]: 'mark',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
    };
    const { objects } = decide({ deployments: [deployment({}, { annotations, labels: { team: 'x' } })] });
    expect(objects[0]?.draft.metadata).toEqual({
      name: 'agent',
      namespace: 'ws-moved',
      labels: { team: 'x' },
      annotations: {
        note: 'kept',
        [ANNOTATION.requestKey]: 'k',
        [ANNOTATION.id]: 'u1',
        [ANNOTATION.copiedFrom]: FROM,
      },
    });
  });

  it('lets a schedule go on where its exports ended', () => {
    const { objects } = decide({
      exports: [schedule({}, { spawnedUntil: '2026-01-01T05:00:00Z' })],
    });
    expect(objects[0]?.draft).toMatchObject({
      spec: { startTime: '2026-01-01T05:00:00Z', intervalHours: 1, suspend: true },
    });
  });

  it.each([
    ['an export that is no schedule', schedule({ intervalHours: undefined })],
    ['a schedule that was cancelled', schedule({ cancel: true })],
    ['a schedule that was refused', schedule({}, { conditions: [{ type: 'Failed', status: 'True' }] })],
  ])('leaves %s, and says so', (_what, one) => {
    const { objects, notes } = decide({ exports: [one] });
    expect([objects, notes]).toEqual([[], ['1 exports that are no schedules, or have ended, were left']]);
  });

  it.each([
    ['the key of a listener', secret('listener-default-key', { type: LISTENER_KEY_TYPE })],
    ['a token of an account', secret('token', { type: 'kubernetes.io/service-account-token' })],
    ['the database of a deployment', secret('agent-database')],
    ['the key of a deployment', secret('agent-platform')],
    ['the password of its own Postgres, which stays where it is', secret('agent-postgres')],
    ['the variables of a revision', secret('agent-00001-env')],
    [
      'what belongs to something that is not copied',
      secret('other', {}, { ownerReferences: [{ kind: 'Job', name: 'j', uid: 'j1' }] }),
    ],
  ])('does not copy %s', (_what, one) => {
    const revision = { metadata: { ...AT, name: 'agent-00001' }, spec: { envSecretName: 'agent-00001-env' } };
    const copies = decide({ secrets: [one], deployments: [deployment()], revisions: [revision] });
    expect(namesOf(copies)).toEqual(['agent']);
  });

  it('makes a Secret before what names it, and gives it to the copy of its owner', () => {
    const owner = { kind: 'AgentDeployment', name: 'agent', uid: 'u1' };
    const copies = decide({
      secrets: [secret('variables', { data: { A: 'Yg==' } }, { ownerReferences: [owner] })],
      deployments: [deployment()],
    });
    expect(namesOf(copies)).toEqual(['variables', 'agent']);
    expect(copies.adoptions).toEqual([
      { secret: 'variables', owner: { ref: copies.objects[1]?.ref, name: 'agent' } },
    ]);
  });

  it('names destinations whose store is this machine', () => {
    const store = (endpointUrl: string) => ({
      metadata: { ...AT, name: 'store' },
      spec: { config: { bucketName: 'bucket', endpointUrl } },
    });
    expect(decide({ destinations: [store('http://127.0.0.1:9000')] }).notes).toHaveLength(1);
    expect(decide({ destinations: [store('https://s3.example.com')] }).notes).toEqual([]);
  });
});
