import { describe, expect, it } from '@jest/globals';
import { CONFIG_MAPS, NAMESPACES } from '#lib/resources';
import { OwnershipGraph } from './ownership-graph.js';

const owned = (namespace: string, name: string, owner: string) => ({
  ref: CONFIG_MAPS,
  object: {
    metadata: {
      namespace,
      name,
      uid: `${namespace}/${name}`,
      ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: owner, blockOwnerDeletion: true }],
    },
  },
});
const uidsOf = (items: readonly { object: { metadata: { uid?: string } } }[]) =>
  items.map(({ object }) => object.metadata.uid);

describe('OwnershipGraph', () => {
  it('leaves out dependents in another namespace than that of their owner', () => {
    const graph = new OwnershipGraph();
    graph.put({ ref: CONFIG_MAPS, object: { metadata: { namespace: 'mine', name: 'a', uid: 'owner' } } });
    for (const namespace of ['mine', 'theirs']) graph.put(owned(namespace, 'b', 'owner'));
    expect(uidsOf(graph.dependentsOf('owner'))).toEqual(['mine/b']);
    expect(uidsOf(graph.blockersOf('owner'))).toEqual(['mine/b']);
  });

  it('knows all dependents of an owner without a namespace, and of one that is deleted', () => {
    const graph = new OwnershipGraph();
    graph.put({ ref: NAMESPACES, object: { metadata: { name: 'a', uid: 'owner' } } });
    for (const namespace of ['mine', 'theirs']) graph.put(owned(namespace, 'b', 'owner'));
    expect(graph.dependentsOf('owner')).toHaveLength(2);
    graph.remove('owner');
    expect(graph.dependentsOf('owner')).toHaveLength(2);
  });
});
