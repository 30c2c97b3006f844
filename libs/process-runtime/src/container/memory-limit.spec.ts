import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PodContainer } from '#lib/resources';
import { temporaryFolder, testEmbeddedKube } from '#lib/testing';
import { mainOf, PodDesk } from '../testdata/pod-desk.js';
import { heapArguments } from './memory-limit.js';

const limited = (memory: string): Pick<PodContainer, 'resources'> => ({ resources: { limits: { memory } } });

describe('heapArguments', () => {
  it('leaves the heap of Node a part of the limit, unless NODE_OPTIONS says how much', () => {
    expect(heapArguments(limited('512Mi'), {})).toEqual(['--max-old-space-size=358']);
    expect(heapArguments(limited('10Mi'), {})).toEqual(['--max-old-space-size=48']);
    expect(heapArguments(limited('512Mi'), { NODE_OPTIONS: '--max_old_space_size=9' })).toEqual([]);
    expect(heapArguments({}, {})).toEqual([]);
  });
});

const isLinux = process.platform === 'linux';
if (!isLinux) process.stderr.write('SKIPPED: limits of memory are enforced on Linux only\n');

(isLinux ? describe : describe.skip)('memory limit of a container', () => {
  const server = testEmbeddedKube();
  let desk: PodDesk;
  const folder = temporaryFolder();

  beforeAll(async () => {
    desk = new PodDesk(server.kubeconfigPath, folder);
    await desk.open('here');
  });
  afterAll(() => desk.close());

  const USES_120_MB = 'const kept = Buffer.alloc(120 * 2 ** 20, 1); setTimeout(() => kept, 60_000)';
  const commandOf = (line: string) => ['sh', '-c', line];

  it('ends a container whose child uses more, with the reason of a kubelet and both figures', async () => {
    const pod = await desk.run('here', {
      ...limited('100Mi'),
      command: commandOf(`node -e '${USES_120_MB}'; echo not reached`),
    });
    const over = await desk.until(pod, 'to end', (now) => mainOf(now)?.state?.terminated !== undefined);
    expect(mainOf(over)?.state?.terminated).toMatchObject({
      exitCode: 137,
      reason: 'OOMKilled',
      message: expect.stringMatching(/^used 1[2-9]\d MiB of memory, and its limit is 100 MiB; raise /),
    });
    await desk.remove(pod);
  });

  it('leaves a container alone that uses less', async () => {
    const pod = await desk.run('here', {
      ...limited('400Mi'),
      command: ['node', '-e', USES_120_MB.replace('60_000', '2_000')],
    });
    const over = await desk.until(pod, 'to end', (now) => mainOf(now)?.state?.terminated !== undefined);
    expect(mainOf(over)?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    await desk.remove(pod);
  });

  it('counts pages once that processes share', async () => {
    // three shells with the same 80 MiB; a line that is no single command keeps its shell
    const line = 'kept=$(head -c 83886080 /dev/zero | tr "\\0" x); (sleep 2; :) & (sleep 2; :) & wait';
    const pod = await desk.run('here', { ...limited('200Mi'), command: commandOf(line) });
    const over = await desk.until(pod, 'to end', (now) => mainOf(now)?.state?.terminated !== undefined);
    expect(mainOf(over)?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    await desk.remove(pod);
  });

  it('bounds the heap of the program of an image', async () => {
    const pod = await desk.run('here', { ...limited('200Mi'), ports: [{ containerPort: 8000 }] });
    await desk.until(pod, 'to run', (now) => mainOf(now)?.state?.running !== undefined);
    const record = JSON.parse(readFileSync(`${desk.podFolder(pod)}/main.process.json`, 'utf8')) as {
      pid: number;
    };
    expect(readFileSync(`/proc/${record.pid}/cmdline`, 'utf8').split('\0')).toContain(
      '--max-old-space-size=140',
    );
    await desk.remove(pod);
  });
});
