import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#lib/resources';
import { refusedFields } from '../pod-fields/refused-fields.js';
import { withoutMachineFolders } from './volume.js';

const podOf = (volumes: readonly object[], ...mounts: readonly object[][]): Pod =>
  ({
    metadata: { name: 'p' },
    spec: {
      volumes,
      containers: mounts.slice(0, 1).map((volumeMounts) => ({ name: 'c', volumeMounts })),
      initContainers: mounts.slice(1).map((volumeMounts) => ({ name: 'i', volumeMounts })),
    },
  }) as never;
const refusedIn = (pod: Pod): number =>
  refusedFields(withoutMachineFolders(pod), { uid: 0, gid: 0, hasMounts: false }).length;

describe('withoutMachineFolders', () => {
  const tmp = { name: 'tmp', emptyDir: {} };
  const atTmp = { name: 'tmp', mountPath: '/tmp' };

  it('lets a pod run without mounts that wants empty folders where the machine has some', () => {
    const shm = { name: 'shm', emptyDir: { medium: 'Memory' } };
    const mounts = [atTmp, { name: 'shm', mountPath: '/dev/shm' }];
    expect(refusedIn(podOf([tmp, shm], mounts, mounts))).toBe(0);
  });

  it.each<[string, Pod]>([
    ['is mounted elsewhere', podOf([tmp], [{ ...atTmp, mountPath: '/data' }])],
    ['is mounted elsewhere too', podOf([tmp], [atTmp], [{ ...atTmp, mountPath: '/data' }])],
    ['is mounted in part', podOf([tmp], [{ ...atTmp, subPath: 'a' }])],
    ['is mounted read-only', podOf([tmp], [{ ...atTmp, readOnly: true }])],
    ['does not begin empty', podOf([{ name: 'tmp', secret: { secretName: 's' } }], [atTmp])],
    ['is mounted nowhere', podOf([tmp], [])],
  ])('leaves a volume to be refused that %s', (_what, pod) => {
    expect(withoutMachineFolders(pod)).toBe(pod);
    expect(refusedIn(pod)).toBe(1);
  });
});
