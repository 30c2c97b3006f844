import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pod, PodContainer } from '#lib/resources';
import { temporaryFolder, testEmbeddedKube } from '#lib/testing';
import { mainOf, PodDesk } from '../testdata/pod-desk.js';

/** Real processes, each of which writes into one file when it begins and ends. */
describe('a sidecar of a pod', () => {
  const server = testEmbeddedKube();
  const folder = temporaryFolder();
  let desk: PodDesk;

  beforeAll(async () => {
    desk = new PodDesk(server.kubeconfigPath, folder);
    await desk.open('here');
  });
  afterAll(() => desk.close());

  const container = (name: string, line: string, more: Partial<PodContainer> & object = {}) => ({
    name,
    image: 'test/program',
    command: ['sh', '-c', line],
    ...more,
  });
  const notes = (name: string): string[] => {
    const text = readFileSync(join(folder, name), 'utf8');
    return text.trim().split('\n');
  };
  const goesOn = (file: string, name: string) =>
    container(
      name,
      `trap 'echo ${name} ends >> ${file}; exit 0' TERM; echo ${name} begins >> ${file}; while :; do sleep 0.05; done`,
      { restartPolicy: 'Always' },
    );
  const conditionOf = (pod: Pod, type: string) =>
    pod.status?.conditions?.find((one) => one.type === type)?.status;

  it('starts in turn before the containers of a pod, and ends after them, the last first', async () => {
    const file = join(folder, 'deleted');
    const ends = (name: string) => `trap 'echo ${name} ends >> ${file}; exit 0' TERM; `;
    const pod = await desk.run(
      'here',
      { command: ['sh', '-c', `${ends('main')} echo main begins >> ${file}; while :; do sleep 0.05; done`] },
      {
        restartPolicy: 'Always',
        initContainers: [
          goesOn(file, 'one'),
          container('first', `sleep 0.2; echo first ran >> ${file}`),
          goesOn(file, 'two'),
        ],
      },
    );
    const running = await desk.until(pod, 'to be ready', (now) => conditionOf(now, 'Ready') === 'True');
    expect(conditionOf(running, 'Initialized')).toBe('True');
    expect(running.status?.initContainerStatuses?.map(({ state }) => Object.keys(state ?? {})[0])).toEqual([
      'running',
      'terminated',
      'running',
    ]);
    await desk.until(pod, 'to have begun', () => notes('deleted').includes('main begins'));
    await desk.remove(pod);
    const [one, first, two, main, ...ended] = notes('deleted');
    expect([one, first]).toEqual(['one begins', 'first ran']);
    expect([two, main].sort()).toEqual(['main begins', 'two begins']);
    expect(ended).toEqual(['main ends', 'two ends', 'one ends']);
  });

  it('ends with a pod whose containers have ended, which has then succeeded', async () => {
    const file = join(folder, 'succeeded');
    const pod = await desk.run(
      'here',
      { command: ['sh', '-c', 'sleep 0.3'] },
      { initContainers: [goesOn(file, 'one')] },
    );
    const over = await desk.until(pod, 'to be over', (now) => now.status?.phase === 'Succeeded');
    expect(mainOf(over)?.state?.terminated?.exitCode).toBe(0);
    expect(notes('succeeded')).toEqual(['one begins', 'one ends']);
    await desk.remove(pod);
  });

  it('restarts when it ends, and leaves its pod unready until then', async () => {
    const pod = await desk.run(
      'here',
      { command: ['sleep', '60'] },
      { initContainers: [container('one', 'sleep 0.3; exit 3', { restartPolicy: 'Always' })] },
    );
    const again = await desk.until(
      pod,
      'to be restarted',
      ({ status }) => (status?.initContainerStatuses?.[0]?.restartCount ?? 0) > 0,
    );
    expect(again.status?.initContainerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(3);
    expect(conditionOf(again, 'Initialized')).toBe('True');
    const unready = await desk.until(pod, 'to be unready', (now) => conditionOf(now, 'Ready') === 'False');
    expect(mainOf(unready)?.state?.running).toBeDefined();
    await desk.remove(pod);
  });
});
