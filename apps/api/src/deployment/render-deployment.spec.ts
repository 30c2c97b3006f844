import type { AgentDeployment, AgentRevision } from '#lib/resources';
import { shownRevisionStatus } from './render-deployment.js';

const ID = '11111111-1111-4111-8111-111111111111';

function revision(active: 'True' | 'False'): AgentRevision {
  const condition = (type: string, status: string) => ({ type, status, reason: type, message: '' });
  return {
    metadata: { name: 'a-00001', annotations: { 'agentplane.dev/id': ID } },
    status: { conditions: [condition('Built', 'True'), condition('Active', active)] },
  } as unknown as AgentRevision;
}

describe('shownRevisionStatus', () => {
  it.each<[string, 'True' | 'False', AgentDeployment['status'], string]>([
    ['on its way while the deployment does not name it', 'True', {}, 'DEPLOYING'],
    ['on its way while it has no address', 'True', { activeRevisionId: ID }, 'DEPLOYING'],
    [
      'deployed once it has an address and the deployment names it',
      'True',
      { activeRevisionId: ID, url: 'http://x' },
      'DEPLOYED',
    ],
    ['deployed for good once it was replaced', 'False', { activeRevisionId: 'other' }, 'DEPLOYED'],
  ])('shows a revision as %s', (_what, active, status, expected) => {
    expect(shownRevisionStatus(revision(active), { status })).toBe(expected);
  });
});
