import { createHmac } from 'node:crypto';
import { stableJson } from '#lib/json';
import { type AgentDeployment, type AgentRevision, ANNOTATION } from '#lib/resources';
import { decideRevision } from './decide-revision.js';
import { formerHashes, revisionHash } from './decide.js';

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
      imageUri: 'i',
      envSecretName: 'e',
      databaseSecretName: 'd',
      platformSecretName: 'p',
      listenerName: 'default',
    },
    status: { serving },
  };
}

function repeating(one: AgentRevision, redeployOf: string): AgentRevision {
  return { ...one, spec: { ...one.spec, redeployOf } };
}

const make = (number: number, more: object = {}) => ({ kind: 'make', revision: { number, ...more } });

describe('decideRevision', () => {
  const table: [string, AgentDeployment, AgentRevision[], object][] = [
    ['makes the first revision', deployment(), [], make(1)],
    ['makes nothing while nothing changed', deployment(), [revision(1)], { kind: 'none' }],
    ['makes a revision of a changed spec', deployment(), [revision(1, 'old')], make(2)],
    ['continues the numbers of forgotten revisions', deployment(), [revision(7, 'old')], make(8)],
    [
      'makes a revision with the id of a request though nothing changed',
      deployment({ revisionRequest: { id: ID } }),
      [revision(1)],
      make(2, { id: ID }),
    ],
    [
      'makes nothing for a handled request',
      deployment({ revisionRequest: { id: ID } }, { handledRevisionRequestId: ID }),
      [revision(1)],
      { kind: 'none' },
    ],
    [
      'makes nothing for a request whose revision exists, even when the status was not written',
      deployment({ revisionRequest: { id: ID } }),
      [revision(1, 'h', ID)],
      { kind: 'none' },
    ],
    [
      'repeats the revision that a request names',
      deployment({ revisionRequest: { id: ID, fromRevisionId: OTHER.toUpperCase() } }),
      [revision(1, 'old', OTHER), revision(2)],
      make(3, { id: ID, repeats: revision(1, 'old', OTHER) }),
    ],
    [
      'repeats the first of several repeats',
      deployment({ revisionRequest: { id: ID, fromRevisionId: OTHER } }),
      [revision(1, 'old'), revision(2), repeating(revision(3, 'old', OTHER), 'a-1')],
      make(4, { id: ID, repeats: revision(1, 'old') }),
    ],
    [
      'repeats a repeat whose first does not exist',
      deployment({ revisionRequest: { id: ID, fromRevisionId: OTHER } }),
      [revision(2), repeating(revision(3, 'old', OTHER), 'a-1')],
      make(4, { id: ID, repeats: repeating(revision(3, 'old', OTHER), 'a-1') }),
    ],
    [
      'rejects a request for a revision that does not exist',
      deployment({ revisionRequest: { id: ID, fromRevisionId: OTHER } }),
      [revision(1)],
      { kind: 'reject-request', requestId: ID, reason: 'RevisionMissing' },
    ],
    [
      'makes nothing for a suspended deployment',
      deployment({ suspend: true, revisionRequest: { id: ID } }),
      [],
      { kind: 'none' },
    ],
  ];
  it.each(table)('%s', (_, one, revisions, expected) => {
    expect(decideRevision(one, revisions, ['h'])).toMatchObject(expected);
  });

  it('gives a revision that is made twice the same id', () => {
    expect(decideRevision(deployment(), [], ['h'])).toEqual(decideRevision(deployment(), [], ['other']));
  });
});

describe('revisionHash', () => {
  const base = revisionHash(deployment(), { A: 'MQ==' }, 'key');
  it.each([
    ['stays for equal specs', deployment(), { A: 'MQ==' }, 'key', true],
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
    [
      'keeps whatever the number of pods',
      deployment({ sourceConfig: { resourceSpec: { minScale: 3, queueMaxScale: 2 } } }),
      { A: 'MQ==' },
      'key',
      true,
    ],
    ['changes with the platform key', deployment(), { A: 'MQ==' }, 'other', false],
  ] as const)('%s', (_, one, environment, key, isEqual) => {
    expect(revisionHash(one, environment, key) === base).toBe(isEqual);
  });
});

describe('formerHashes', () => {
  it('recognizes a revision of an earlier version, whatever its number of pods', () => {
    const sized = (resourceSpec: object) => deployment({ sourceConfig: { resourceSpec } });
    // as 0.2.0 made it
    const made = createHmac('sha256', 'key')
      .update(stableJson([...specOf(sized({})), { cpu: 1, minScale: 2 }, {}]))
      .digest('hex')
      .slice(0, 32);
    const latest = { spec: { resourceSpec: { cpu: 1, minScale: 2 } } } as AgentRevision;
    const known = (resourceSpec: object) =>
      formerHashes(sized(resourceSpec), latest, {}, 'key').includes(made);
    expect([known({ cpu: 1, minScale: 2 }), known({ cpu: 1, minScale: 5 }), known({ cpu: 1 })]).toEqual([
      true,
      true,
      true,
    ]);
    expect(known({ cpu: 2, minScale: 2 })).toBe(false);
  });
});

function specOf({ spec }: AgentDeployment): readonly unknown[] {
  return [spec.source, spec.sourceRevisionConfig];
}
