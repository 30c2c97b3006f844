import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SCRIPT = join(import.meta.dirname, '..', 'cluster', 'cluster.sh');

/** A control plane of a real Kubernetes for one test file: another file would end a common one in the middle. */
export class RealCluster {
  readonly #folder: string;
  /** All other ports of its servers move with it. */
  readonly #port = 21_000 + randomInt(8_000);

  /** @param installation what `findRealKubernetes` found */
  private constructor(installation: string) {
    this.#folder = mkdtempSync(join(tmpdir(), 'real-kubernetes-'));
    symlinkSync(join(installation, 'bin'), join(this.#folder, 'bin'));
  }

  /** Takes some ten seconds. */
  static up(installation: string): RealCluster {
    const cluster = new RealCluster(installation);
    cluster.#run('up');
    return cluster;
  }

  /** Of its administrator. */
  get kubeconfig(): string {
    return join(this.#folder, 'run', 'admin.kubeconfig');
  }

  down(): void {
    this.#run('down', '--purge');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #run(...words: readonly string[]): void {
    execFileSync('bash', [SCRIPT, ...words], {
      env: { ...process.env, KUBE_HOME: this.#folder, KUBE_PORT: String(this.#port) },
      // its servers outlive the script and must not hold our pipes
      stdio: 'ignore',
      timeout: 120_000,
    });
  }
}
