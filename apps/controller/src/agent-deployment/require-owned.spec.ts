import type { OwnerReference, Secret } from '#lib/resources';
import { requireOwned } from './require-owned.js';

const OWNER = { kind: 'AgentDeployment', metadata: { name: 'a', uid: 'present' } };

function secret(owner?: Partial<OwnerReference>, metadata: object = {}): Secret {
  const reference = {
    apiVersion: 'v1',
    kind: 'AgentDeployment',
    name: 'a',
    uid: 'present',
    controller: true,
  };
  return {
    metadata: { name: 's', ...(owner ? { ownerReferences: [{ ...reference, ...owner }] } : {}), ...metadata },
  };
}

describe('requireOwned', () => {
  it('returns a Secret of its own', () => {
    const own = secret({});
    expect(requireOwned(own, OWNER)).toBe(own);
  });

  it.each([
    ['waits until a Secret of a former owner is collected', secret({ uid: 'former' }), 'Deleting'],
    ['waits for a Secret that is being deleted', secret(undefined, { deletionTimestamp: 'now' }), 'Deleting'],
    ['refuses a Secret of another owner', secret({ uid: 'other', name: 'b' }), 'NotOurs'],
    ['refuses a Secret without an owner', secret(), 'NotOurs'],
  ])('%s', (_, one, reason) => {
    expect(() => requireOwned(one, OWNER)).toThrow(expect.objectContaining({ reason }) as Error);
  });
});
