import { describe, expect, it } from '@jest/globals';
import type { Pod, PodContainer } from '#lib/resources';
import { requireFewObjects } from './prepare-launch.js';

const many = <T>(count: number, item: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => item(at));
const podOf = (volumes: readonly object[] = []): Pod => ({
  metadata: { name: 'a' },
  spec: { containers: [], volumes },
});
const containerOf = (more: object): PodContainer => ({ name: 'a', image: 'a', ...more });
const refOf = (at: number) => ({ configMapRef: { name: `missing-${at}`, optional: true } });

describe('requireFewObjects', () => {
  it.each<[string, Pod, PodContainer, number | undefined]>([
    ['a hundred objects', podOf(), containerOf({ envFrom: many(100, refOf) }), undefined],
    ['thousands of objects', podOf(), containerOf({ envFrom: many(24_000, refOf) }), 24_000],
    [
      'thousands of keys of one Secret',
      podOf(),
      containerOf({
        env: many(3_000, (at) => ({
          name: `V${at}`,
          valueFrom: { secretKeyRef: { name: 's', key: `${at}` } },
        })),
      }),
      undefined,
    ],
    [
      'objects of variables and volumes together',
      podOf([
        { name: 'v', secret: { secretName: 's' } },
        { name: 'p', projected: { sources: many(60, (at) => ({ secret: { name: `s${at}` } })) } },
        { name: 'other', projected: { sources: many(60, (at) => ({ secret: { name: `o${at}` } })) } },
      ]),
      containerOf({
        envFrom: many(40, refOf),
        volumeMounts: ['v', 'p'].map((name) => ({ name, mountPath: `/${name}` })),
      }),
      101,
    ],
  ])('judges %s', (_title, pod, container, refused) => {
    const judge = (): void => requireFewObjects(pod, container);
    if (refused === undefined) expect(judge).not.toThrow();
    else expect(judge).toThrow(`asks for ${refused} different Secrets and ConfigMaps; the limit is 100`);
  });
});
