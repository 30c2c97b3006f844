import type { AgentDeployment, AgentRevision } from '#lib/resources';
import { renderPendingRevision, renderRevision, shownRevisionStatus } from './render-deployment.js';

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

describe('renderRevision', () => {
  const silent = {
    metadata: { name: 'a' },
    spec: {},
    status: {
      activeRevisionId: 'other',
      conditions: [
        {
          type: 'Ready',
          status: 'Unknown',
          reason: 'NoHeartbeat',
          message: 'Listener far: last heard at noon',
        },
      ],
    },
  } as unknown as AgentDeployment;
  const withConditions = (...types: string[]): AgentRevision =>
    ({
      metadata: { name: 'a-00002' },
      spec: {},
      status: {
        conditions: types.map((word) => ({
          type: word.replace('!', ''),
          status: word.startsWith('!') ? 'False' : 'True',
          reason: 'Because',
          message: word,
          lastTransitionTime: '',
        })),
      },
    }) as unknown as AgentRevision;

  it('knows nothing of a rollout whose listener is silent, and names the listener', () => {
    expect(renderRevision(withConditions('Built', 'WorkloadsReady'), silent)).toMatchObject({
      status: 'UNKNOWN',
      status_reason: 'NoHeartbeat',
      status_message: 'Listener far: last heard at noon',
    });
  });

  it.each<[string, readonly string[]]>([
    ['DEPLOY_FAILED', ['Built', 'Failed']],
    ['SKIPPED', ['Built', 'Superseded']],
    ['DEPLOYED', ['Built', '!Active']],
    ['BUILD_FAILED', ['!Built']],
  ])('shows %s although the listener is silent', (status, types) => {
    expect(renderRevision(withConditions(...types), silent).status).toBe(status);
  });
});

describe('renderPendingRevision', () => {
  const AT = '2026-11-20T00:00:00Z';
  const refused = (observedGeneration: number): AgentDeployment =>
    ({
      metadata: { name: 'a', generation: 3 },
      spec: { source: 'internal_image', sourceRevisionConfig: { imageUri: 'x' } },
      status: {
        conditions: ['RevisionReady', 'Ready'].map((type) => ({
          type,
          status: 'False',
          observedGeneration,
          reason: 'ReservedEnvironment',
          message: 'remove AGENTPLANE_X',
        })),
      },
    }) as unknown as AgentDeployment;
  const pending = { id: ID, at: AT };

  it('shows CREATING with the reason while the controller refuses a request, which may pass', () => {
    expect(renderPendingRevision(refused(3), pending)).toMatchObject({
      id: ID,
      status: 'CREATING',
      status_reason: 'ReservedEnvironment',
      status_message: 'remove AGENTPLANE_X',
    });
  });
});
