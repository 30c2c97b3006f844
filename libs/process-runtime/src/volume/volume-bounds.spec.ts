import { describe, expect, it } from '@jest/globals';
import type { Pod, PodContainer } from '#lib/resources';
import { ContainerConfigError } from '../pod-values/pod-field.js';
import { prepareMounts } from './prepare-mounts.js';
import { volumeFiles } from './volume-files.js';

const LONG = 'x'.repeat(250_000);
/** Number of reads of the long value. */
let reads = 0;
const pod = {
  metadata: {
    name: 'a',
    namespace: 'team',
    get annotations() {
      reads++;
      return { long: LONG };
    },
  },
  spec: { containers: [] },
} as unknown as Pod;
/** One object with a large value, whatever is asked for. */
const client = {
  find: () => Promise.resolve({ data: { key: Buffer.from(LONG).toString('base64') } } as never),
};
const many = <T>(count: number, item: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => item(at));
const item = (path: string): object => ({ key: 'key', path });

describe('the process runtime', () => {
  it.each<[string, object, RegExp]>([
    [
      'names a field in thousands of files',
      {
        downwardAPI: {
          items: many(24_000, (at) => ({ path: `f${at}`, fieldRef: { fieldPath: 'metadata.annotations' } })),
        },
      },
      /24000 files; the limit is 1000/,
    ],
    [
      'names a long field in hundreds of files',
      {
        downwardAPI: {
          items: many(500, (at) => ({ path: `f${at}`, fieldRef: { fieldPath: 'metadata.annotations' } })),
        },
      },
      /more bytes; the limit is 8 MiB/,
    ],
    [
      'names a key in thousands of files',
      { secret: { secretName: 's', items: many(1_001, (at) => item(`f${at}`)) } },
      /1001 files/,
    ],
    [
      'has thousands of sources',
      { projected: { sources: many(5_000, () => ({ secret: { name: 's' } })) } },
      /5000 sources/,
    ],
    ['has a deep path', { secret: { secretName: 's', items: [item('a/'.repeat(40) + 'b')] } }, /32 parts/],
    [
      'asks for a set-user-id file',
      { secret: { secretName: 's', items: [{ ...item('a'), mode: 0o4755 }] } },
      /mode 2541 .* from 0 to 0777/,
    ],
    ['asks for a mode that is none', { secret: { secretName: 's', defaultMode: 1.5 } }, /mode 1\.5/],
    ['has a long path', { secret: { secretName: 's', items: [item('b'.repeat(2_000))] } }, /2000 letters/],
  ])('refuses one that %s', async (_title, volume, message) => {
    reads = 0;
    const error = await volumeFiles(client, pod, { name: 'v', ...volume }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ContainerConfigError);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message.length).toBeLessThan(500);
    expect(reads).toBeLessThan(100);
  });

  it.each<[string, object[], RegExp]>([
    ['thousands of mounts', many(5_000, (at) => ({ name: 'v', mountPath: `/m${at}` })), /5000 mounts/],
    [
      'a mount below thousands of folders',
      [{ name: 'v', mountPath: '/a'.repeat(10_000) }],
      /letters; the limit is 4096/,
    ],
    [
      'hundreds of mounts below hundreds of folders',
      many(256, (at) => ({ name: 'v', mountPath: `/m${at}${'/a'.repeat(250)}` })),
      /more than 4096 folders and links/,
    ],
  ])('refuses %s', async (_title, volumeMounts, message) => {
    const mounted = { ...pod, spec: { ...pod.spec, volumes: [{ name: 'v', emptyDir: {} }] } } as Pod;
    const files = { emptyVolume: () => '/', writeVolume: () => '/', stageFolder: '/' } as never;
    const container = { name: 'c', volumeMounts } as unknown as PodContainer;
    const user = { uid: 0, gid: 0, isOwn: false } as never;
    const inTurn = <T>(step: () => T): Promise<T> => Promise.resolve().then(step);
    const options = { client, files, user, inTurn, needed: [], expand: (text: string) => text };
    await expect(prepareMounts(mounted, container, options)).rejects.toThrow(message);
  });
});
