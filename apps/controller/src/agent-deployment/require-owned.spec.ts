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
  it('answers what is its own', () => {
    const own = secret({});
    expect(requireOwned(own, OWNER)).toBe(own);
  });

  it.each([
    ['waits until that of a former owner is collected', secret({ uid: 'former' }), 'Deleting'],
    ['waits for what is going', secret(undefined, { deletionTimestamp: 'now' }), 'Deleting'],
    ['leaves what is somebody else’s alone', secret({ uid: 'other', name: 'b' }), 'NotOurs'],
    ['leaves what is nobody’s alone', secret(), 'NotOurs'],
  ])('%s', (_, one, reason) => {
    expect(() => requireOwned(one, OWNER)).toThrow(expect.objectContaining({ reason }) as Error);
  });
});
