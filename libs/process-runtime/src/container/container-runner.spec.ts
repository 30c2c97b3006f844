import { afterEach, describe, expect, it } from '@jest/globals';
import type { ContainerStatus, Pod } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import type { NodeContext } from '../context/node-context.js';
import { PodFiles } from '../pod-files/pod-files.js';
import { nodeUser } from '../user/pod-user.js';
import { ContainerRunner, type ContainerRunnerOptions } from './container-runner.js';

const podsFolder = temporaryFolder();
const files = new PodFiles(podsFolder, 'uid', nodeUser);
files.prepare();
const pod = {
  metadata: { name: 'a', namespace: 'team', uid: 'uid' },
  spec: { containers: [], volumes: [{ name: 'v', emptyDir: {} }] },
} as unknown as Pod;
const context = {
  clock: systemClock,
  log: createLogger('test', 'silent'),
  podsFolder,
  strays: [],
  images: { resolve: () => Promise.resolve({ folder: podsFolder, entryPoint: 'none' }) },
  ports: { sockets: { hold: () => Promise.resolve(), inheritance: () => ({ stdio: [], environment: {} }) } },
  environment: { PATH: process.env.PATH ?? '' },
  tools: { setpriv: undefined, env: undefined },
  events: { record: () => undefined },
  memoryWatch: { watch: () => () => undefined },
  runtime: { command: process.execPath },
  cpuLimits: { bind: () => () => undefined },
  spares: { claim: () => Promise.resolve(undefined) },
} as unknown as NodeContext;

function runnerOf(
  name: string,
  onRunning: () => void,
  more: Partial<ContainerRunnerOptions> = {},
): ContainerRunner {
  const runner: ContainerRunner = new ContainerRunner({
    context,
    pod: () => pod,
    container: { name, image: 'x', command: ['sleep', '1000'] },
    surroundings: () => ({ user: nodeUser(), files, ports: {}, kubeconfig: undefined }),
    restartPolicy: 'Never',
    onChange: () => {
      if (runner.view.phase.kind === 'running') onRunning();
    },
    beforeRestart: () => Promise.resolve(),
    before: undefined,
    wasStarted: false,
    ...more,
  });
  return runner;
}

describe('ContainerRunner', () => {
  const stops: (() => Promise<void>)[] = [];
  afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())));

  it('starts the processes of containers in turns of the thread of their own', async () => {
    let turn = 0;
    const count = (): void => void (turn++, (counting = setImmediate(count)));
    let counting = setImmediate(count);
    const startedAt: number[] = [];
    const all = Promise.withResolvers<void>();
    const names = ['one', 'two', 'three'];
    for (const name of names) {
      const runner = runnerOf(name, () => {
        startedAt.push(turn);
        if (startedAt.length === names.length) all.resolve();
      });
      stops.push(() => runner.stop(0));
      void runner.run();
    }
    await all.promise;
    clearImmediate(counting);
    expect(new Set(startedAt).size).toBe(names.length);
  });

  it('looks at the places of mounts for one container at a time', async () => {
    let refused = 0;
    const all = Promise.withResolvers<void>();
    const names = ['six', 'seven', 'eight'];
    const container = { image: 'x', command: ['true'], volumeMounts: [{ name: 'v', mountPath: '/' }] };
    for (const name of names) {
      const onChange = (): void => {
        expect(runner.view.phase).toMatchObject({ reason: 'CreateContainerConfigError' });
        if (++refused === names.length) all.resolve();
      };
      const runner = runnerOf(name, () => undefined, { container: { ...container, name }, onChange });
      stops.push(() => runner.stop(0));
      void runner.run();
    }
    // no timer fires meanwhile: a rest is waited for after the first at the latest
    for (let step = 0; step < 200; step++) await Promise.resolve();
    expect(refused).toBeLessThan(2);
    await all.promise;
    expect(refused).toBe(names.length);
  });

  it('starts nothing when it is stopped before its turn, and reports how the attempt before ended', async () => {
    const running: string[] = [];
    const second = runnerOf('five', () => running.push('five'), {
      before: { restartCount: 0, state: { terminated: { exitCode: 3 } } } as ContainerStatus,
      restartPolicy: 'Always',
    });
    const first = runnerOf('four', () => {
      running.push('four');
      void second.stop(0);
    });
    const ended = [first, second].map((runner) => runner.run());
    await ended[1];
    await first.stop(0);
    await ended[0];
    expect(running).toEqual(['four']);
    expect(second.view.phase).toMatchObject({ kind: 'terminated', result: { exitCode: 3 } });
  });
});
