import type { AgentRevision } from '#lib/resources';
import { revisionsToForget } from './decide.js';

function revision(number: number, status: AgentRevision['status'] = {}, redeployOf?: string): AgentRevision {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'AgentRevision',
    metadata: { name: `a-${number}` },
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
      ...(redeployOf === undefined ? {} : { redeployOf }),
    },
    status,
  };
}

function ended(number: number, type = 'Active', redeployOf?: string): AgentRevision {
  const status = type === 'Active' ? 'False' : 'True';
  const condition = { type, status, reason: 'R', message: '', lastTransitionTime: '' } as const;
  return revision(number, { conditions: [condition] }, redeployOf);
}

describe('revisionsToForget', () => {
  const serving = (number: number, redeployOf?: string) => revision(number, { serving: true }, redeployOf);
  const forgotten = (revisions: readonly AgentRevision[], limit: number) =>
    revisionsToForget(revisions, limit).map(({ spec }) => spec.number);

  it('forgets the oldest beyond the limit, but not what serves or is newest', () => {
    const revisions = [ended(1, 'Failed'), serving(2), ended(3, 'Superseded'), ended(4), revision(5)];
    expect(forgotten(revisions, 1)).toEqual([1, 3]);
    expect(forgotten(revisions, 10)).toEqual([]);
  });

  it('keeps a revision whose end was not reported: the Service may point to it', () => {
    expect(forgotten([ended(1), revision(2), revision(3)], 0)).toEqual([1]);
  });

  it('keeps what a kept revision repeats, whose Deployment may run it', () => {
    expect(forgotten([ended(1), ended(2), ended(3), serving(4, 'a-1')], 0)).toEqual([2, 3]);
    expect(forgotten([ended(1), ended(2, 'Active', 'a-1'), ended(3), serving(4)], 0)).toEqual([1, 2, 3]);
  });
});
