import { type AgentDeployment, type AgentRevision, ANNOTATION } from '#lib/resources';
import { decideRevision, revisionsToForget } from './decide-revision.js';
import { revisionHash } from './revision-hash.js';

const ID = '11111111-1111-4111-8111-111111111111';
const OTHER = '22222222-2222-4222-8222-222222222222';

function deployment(
  spec: Partial<AgentDeployment['spec']> = {},
  status: AgentDeployment['status'] = {},
): AgentDeployment {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'AgentDeployment',
    metadata: { name: 'a', namespace: 'ws-x', uid: 'u-1', generation: 1 },
    spec: {
      source: 'internal_image',
      sourceConfig: {},
      sourceRevisionConfig: { imageUri: 'sample-agent' },
      suspend: false,
      revisionHistoryLimit: 10,
      ...spec,
    },
    status,
  };
}

function revision(number: number, hash = 'h', id = `id-${number}`, serving = false): AgentRevision {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'AgentRevision',
    metadata: {
      name: `a-${number}`,
      annotations: { [ANNOTATION.revisionHash]: hash, [ANNOTATION.id]: id },
    },
    spec: {
      deploymentName: 'a',
      deploymentWireName: 'a',
      tenantId: 't',
      number,
      source: 'internal_image',
      image: 'i',
      imageUri: 'i',
      envSecretName: 'e',
      databaseSecretName: 'd',
      platformSecretName: 'p',
      listenerName: 'default',
    },
    status: { serving },
  };
}

describe('decideRevision', () => {
  const table: [string, AgentDeployment, AgentRevision[], object][] = [
    ['the first revision is made', deployment(), [], { kind: 'make', number: 1 }],
    ['nothing is made while nothing changed', deployment(), [revision(1)], { kind: 'none' }],
    ['a changed spec makes a revision', deployment(), [revision(1, 'old')], { kind: 'make', number: 2 }],
    [
      'numbers go on after what was forgotten',
      deployment(),
      [revision(7, 'old')],
      { kind: 'make', number: 8 },
    ],
    [
      'a request makes a revision with its id though nothing changed',
      deployment({ revisionRequest: { id: ID } }),
      [revision(1)],
      { kind: 'make', number: 2, id: ID },
    ],
    [
      'a handled request makes nothing',
      deployment({ revisionRequest: { id: ID } }, { handledRevisionRequestId: ID }),
      [revision(1)],
      { kind: 'none' },
    ],
    [
      'a request whose revision is there makes nothing, even when the status was not written',
      deployment({ revisionRequest: { id: ID } }),
      [revision(1, 'h', ID)],
      { kind: 'none' },
    ],
    [
      'a request from a revision repeats it',
      deployment({ revisionRequest: { id: ID, fromRevisionId: OTHER.toUpperCase() } }),
      [revision(1, 'old', OTHER), revision(2)],
      { kind: 'repeat', number: 3, id: ID },
    ],
    [
      'a request from a revision that is gone is rejected',
      deployment({ revisionRequest: { id: ID, fromRevisionId: OTHER } }),
      [revision(1)],
      { kind: 'reject-request', requestId: ID, reason: 'RevisionMissing' },
    ],
    [
      'nothing is made for a suspended deployment',
      deployment({ suspend: true, revisionRequest: { id: ID } }),
      [],
      { kind: 'none' },
    ],
  ];
  it.each(table)('%s', (_, one, revisions, expected) => {
    expect(decideRevision(one, revisions, 'h')).toMatchObject(expected);
  });

  it('gives a revision that is made twice the same id', () => {
    expect(decideRevision(deployment(), [], 'h')).toEqual(decideRevision(deployment(), [], 'other'));
  });
});

describe('revisionHash', () => {
  const base = revisionHash(deployment(), { A: 'MQ==' }, 'key');
  it.each([
    ['keeps for equal specs', deployment(), { A: 'MQ==' }, 'key', true],
    [
      'keeps whatever the order of keys',
      deployment({ sourceConfig: { customUrl: 'http://x' } }),
      { A: 'MQ==' },
      'key',
      true,
    ],
    ['changes with a variable', deployment(), { A: 'Mg==' }, 'key', false],
    [
      'changes with the image',
      deployment({ sourceRevisionConfig: { imageUri: 'other' } }),
      { A: 'MQ==' },
      'key',
      false,
    ],
    [
      'changes with resources',
      deployment({ sourceConfig: { resourceSpec: { cpu: 1 } } }),
      { A: 'MQ==' },
      'key',
      false,
    ],
    ['changes with the platform key', deployment(), { A: 'MQ==' }, 'other', false],
  ] as const)('%s', (_, one, environment, key, isEqual) => {
    expect(revisionHash(one, environment, key) === base).toBe(isEqual);
  });
});

describe('revisionsToForget', () => {
  const saying = (number: number, type: string, status: 'True' | 'False') => ({
    ...revision(number),
    status: { conditions: [{ type, status, reason: 'R', message: '', lastTransitionTime: '' }] },
  });
  const ended = (number: number, type = 'Active') =>
    saying(number, type, type === 'Active' ? 'False' : 'True');
  const serving = (number: number) => revision(number, 'h', 'x', true);
  const forgotten = (revisions: readonly AgentRevision[], limit: number, served?: string) =>
    revisionsToForget(revisions, limit, served).map(({ spec }) => spec.number);

  it('forgets the oldest beyond the limit, but not what serves or is newest', () => {
    const revisions = [ended(1, 'Failed'), serving(2), ended(3, 'Superseded'), ended(4), revision(5)];
    expect(forgotten(revisions, 1)).toEqual([1, 3]);
    expect(forgotten(revisions, 10)).toEqual([]);
  });

  it('keeps what the Service points to, whatever was said of it', () => {
    // suspended, or switched a moment ago
    expect(forgotten([ended(1), ended(2), revision(3)], 0, 'a-2')).toEqual([1]);
    expect(forgotten([ended(1), revision(2), revision(3)], 0)).toEqual([1]);
  });
});
