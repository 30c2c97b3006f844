import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#lib/resources';
import { decidePodGc } from './pod-gc-controller.js';

const pod = (
  name: string,
  phase: 'Running' | 'Succeeded' | 'Failed',
  nodeName: string | undefined,
  deleted = false,
): Pod => ({
  metadata: {
    name,
    creationTimestamp: `2026-01-01T00:00:0${name.at(-1)}Z`,
    ...(deleted ? { deletionTimestamp: 'x' } : {}),
  },
  spec: { containers: [], ...(nodeName === undefined ? {} : { nodeName }) },
  status: { phase },
});

describe('decidePodGc', () => {
  it('removes the finished pods of the namespace that has most', () => {
    const of = (namespace: string, count: number): Pod[] =>
      Array.from({ length: count }, (_, n) => {
        const made = pod(`${namespace}${n}`, 'Succeeded', 'n');
        return { ...made, metadata: { ...made.metadata, namespace } };
      });
    const pods = [...of('busy', 9), ...of('quiet', 1), ...of('other', 4)];
    const removals = decidePodGc({ pods, nodeNames: new Set(['n']), maxFinished: 8 });
    expect(removals.map(({ pod: one }) => one.metadata.name).sort()).toEqual([
      'busy0',
      'busy1',
      'busy2',
      'busy3',
      'busy4',
      'busy5',
    ]);
  });

  it.each<[string, Pod[], string[]]>([
    ['leaves what runs', [pod('a1', 'Running', 'n')], []],
    ['keeps finished pods up to the bound', [pod('a1', 'Succeeded', 'n'), pod('a2', 'Failed', 'n')], []],
    [
      'removes the oldest finished pods over the bound',
      [pod('a3', 'Succeeded', 'n'), pod('a1', 'Failed', 'n'), pod('a2', 'Succeeded', 'n')],
      ['a1 finished'],
    ],
    ['removes pods of a node that is no more', [pod('a1', 'Running', 'gone')], ['a1 node-gone']],
    [
      'removes what was deleted before it had a node',
      [pod('a1', 'Running', undefined, true)],
      ['a1 never-scheduled'],
    ],
    ['leaves what waits for a node', [pod('a1', 'Running', undefined)], []],
    ['leaves what its node is stopping', [pod('a1', 'Running', 'n', true)], []],
  ])('%s', (_name, pods, expected) => {
    const removals = decidePodGc({ pods, nodeNames: new Set(['n']), maxFinished: 2 });
    expect(removals.map(({ pod: one, reason }) => `${one.metadata.name} ${reason}`)).toEqual(expected);
  });
});
