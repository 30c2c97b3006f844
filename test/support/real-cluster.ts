import { execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repository } from './platform.js';

const SCRIPT = join(repository, 'test', 'cluster', 'cluster.sh');

/** Where the node of a real cluster, and thus its pods, reach this machine. */
export const NODE_ADDRESS = '10.244.0.1';

/** Whether this machine can be a node: its programs are built, its user is root. */
export function canBeNode(installation: string): boolean {
  return existsSync(join(installation, 'bin', 'kubelet')) && process.getuid?.() === 0;
}

/** Whether a node of this machine can report what its pods use. */
export function canMeasure(installation: string): boolean {
  return canBeNode(installation) && existsSync(join(installation, 'bin', 'metrics-server'));
}

/**
 * The archive of all images; built where their sources have changed, which takes minutes.
 * @param checkout of other sources than these
 * @param home for what is kept; by default that of the programs
 */
export function buildImages(checkout = repository, home?: string): string {
  return execFileSync('bash', [join(checkout, 'test', 'cluster', 'images.sh')], {
    encoding: 'utf8',
    env: { ...process.env, ...(home === undefined ? {} : { KUBE_HOME: home }) },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 3_000_000,
  }).trim();
}

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

  /**
   * Takes some ten seconds.
   * @param isNode whether pods run there too; one cluster of a machine may have that
   */
  static up(installation: string, { isNode = false }: { readonly isNode?: boolean } = {}): RealCluster {
    const cluster = new RealCluster(installation);
    cluster.#run('up', ...(isNode ? ['--node'] : []));
    return cluster;
  }

  /** Of its administrator. */
  get kubeconfig(): string {
    return join(this.#folder, 'run', 'admin.kubeconfig');
  }

  /** @param archive of images, for its node */
  load(archive: string): void {
    this.#run('load', archive);
  }

  /** From now on it reports what pods use, as autoscalers ask; `canMeasure` says whether it can. */
  measure(): void {
    this.#run('metrics');
  }

  /** An image of its node under one more name. */
  tag(name: string, more: string): void {
    this.#run('tag', name, more);
  }

  /**
   * From now on its node pulls from this registry without TLS.
   * @param host with the port
   */
  pullWithoutTls(host: string): void {
    const folder = join(this.#folder, 'run', 'certs.d', host);
    mkdirSync(folder, { recursive: true });
    const rule = `server = "http://${host}"\n[host."http://${host}"]\n  capabilities = ["pull", "resolve"]\n`;
    writeFileSync(join(folder, 'hosts.toml'), rule);
  }

  /** Stops one of its programs and starts it again. */
  restart(program: 'apiserver' | 'kubelet'): Promise<void> {
    return this.#runBeside('restart', program);
  }

  /** A signal for one of its programs. */
  signal(program: 'apiserver' | 'kubelet', name: NodeJS.Signals): void {
    process.kill(Number(readFileSync(join(this.#folder, 'run', 'pid', program), 'utf8')), name);
  }

  /** Ends the node and everything that runs on it, as if its power was cut. The control plane stays. */
  halt(): Promise<void> {
    return this.#runBeside('halt');
  }

  /** Starts the node again after `halt`. */
  boot(): Promise<void> {
    return this.#runBeside('boot');
  }

  down(): void {
    this.#run('down', '--purge');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #run(...words: readonly string[]): void {
    // what it says of a failure is in the message of the error
    const stdio = ['ignore', 'ignore', 'pipe'] as const;
    execFileSync('bash', [SCRIPT, ...words], { ...this.#options, stdio: [...stdio], timeout: 300_000 });
  }

  /** While callers of this process ask on. */
  async #runBeside(...words: readonly string[]): Promise<void> {
    const [code] = (await once(spawn('bash', [SCRIPT, ...words], this.#options), 'exit')) as [number | null];
    if (code !== 0) throw new Error(`cluster.sh ${words.join(' ')} failed: exit code ${code}`);
  }

  get #options(): { readonly env: NodeJS.ProcessEnv; readonly stdio: 'ignore' } {
    const env = { ...process.env, KUBE_HOME: this.#folder, KUBE_PORT: String(this.#port) };
    return { env, stdio: 'ignore' }; // its servers outlive the script and must not hold our pipes
  }
}
