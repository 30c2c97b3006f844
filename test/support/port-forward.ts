import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Kubectl } from './kubectl.js';

/** `kubectl port-forward` to a Service, by which a machine outside of a cluster reaches it. */
export class PortForward {
  private constructor(
    private readonly child: ChildProcess,
    /** Where it listens, with the port. */
    readonly host: string,
  ) {}

  static async open(
    { binary, kubeconfig }: Kubectl,
    namespace: string,
    service: string,
    port: number,
  ): Promise<PortForward> {
    const words = ['--kubeconfig', kubeconfig, '-n', namespace, 'port-forward', `svc/${service}`, `:${port}`];
    const child = spawn(binary, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const line of createInterface(child.stdout)) {
      const host = /^Forwarding from (127\.0\.0\.1:\d+)/.exec(line)?.[1];
      if (host === undefined) continue;
      child.stdout.resume(); // a line for each connection
      return new PortForward(child, host);
    }
    throw new Error(`port-forward to ${namespace}/${service} ended before it listened`);
  }

  async close(): Promise<void> {
    this.child.kill();
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
  }
}
