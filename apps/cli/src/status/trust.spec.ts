import { describe, expect, it } from '@jest/globals';
import { type AgentDeployment, LABEL, type Node, PODS_RUN_AS_ROOT, PODS_SHARE_USER } from '#lib/resources';
import { trustRows } from './status-command.js';

const deployment = (name: string) => ({ metadata: { name } }) as AgentDeployment;
const node = (...types: string[]): Node => ({
  metadata: { name: 'here', labels: { [LABEL.runtime]: 'process' } },
  status: { conditions: types.map((type) => ({ type, status: 'True' })) },
});

describe('trustRows', () => {
  it.each<[string, readonly Node[], RegExp]>([
    ['its own user on a machine of root', [node('Ready')], /^its own$/],
    ['one user where the platform has one', [node(PODS_SHARE_USER)], /every agent$/],
    ['root where pods run as root', [node(PODS_RUN_AS_ROOT)], /^root, with every agent/],
    ['its containers on a cluster', [{ metadata: { name: 'far' } }], /^its containers’$/],
  ])('shows %s', (_what, nodes, user) => {
    const [row] = trustRows([deployment('a')], nodes, []);
    expect(row).toMatchObject({ deployment: 'a', user: expect.stringMatching(user) });
  });

  it('distinguishes a database server of its own from the shared one', () => {
    const rows = trustRows([deployment('a'), deployment('b')], [], ['b']);
    expect(rows.map(({ database }) => database)).toEqual([expect.stringContaining('shared'), 'its own']);
  });
});
