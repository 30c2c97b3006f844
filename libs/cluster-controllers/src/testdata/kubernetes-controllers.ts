import { spawn, type ChildProcess } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Stoppable } from '#lib/lifecycle';

const BIN = join(process.env.KUBE_HOME ?? join(homedir(), '.cache/agentplane/kube'), 'bin');

/** Kubernetes' own controller manager and scheduler: the reference that ours is compared with. */
export function startKubernetesControllers(kubeconfigPath: string): Stoppable {
  const run = (name: string, flags: readonly string[]): ChildProcess =>
    spawn(
      join(BIN, name),
      [`--kubeconfig=${kubeconfigPath}`, '--leader-elect=false', '--secure-port=0', ...flags],
      { stdio: 'ignore' },
    );
  const processes = [run('kube-controller-manager', ['--concurrent-gc-syncs=5']), run('kube-scheduler', [])];
  return {
    name: 'kubernetes-controllers',
    async stop() {
      await Promise.all(
        processes.map((child) => {
          const ended = new Promise((resolve) => child.once('exit', resolve));
          child.kill('SIGKILL');
          return child.exitCode === null ? ended : undefined;
        }),
      );
    },
  };
}
