import { describe, expect, it } from '@jest/globals';
import type { DiscoveredResource, KubeClient } from '#lib/kube';
import { deleteContent } from './namespace-controller.js';

const PODS = { plural: 'pods', group: '', namespaced: true, verbs: ['list', 'delete'] };

describe('deleteContent', () => {
  it('asks for the deletion of every object, also behind one that cannot be deleted', async () => {
    const asked: string[] = [];
    const client = {
      list: () =>
        Promise.resolve({ items: ['a', 'b', 'c'].map((name) => ({ metadata: { name, namespace: 'n' } })) }),
      delete: (_ref: object, { name }: { name: string }) => {
        asked.push(name);
        return name === 'a' ? Promise.reject(new Error('a is too large')) : Promise.resolve();
      },
    };
    const found = await deleteContent(
      client as unknown as KubeClient,
      [PODS as unknown as DiscoveredResource],
      'n',
    );
    expect(asked).toEqual(['a', 'b', 'c']);
    expect([[...found.resources], found.problems]).toEqual([[['pods.', 3]], ['a is too large']]);
  });
});
