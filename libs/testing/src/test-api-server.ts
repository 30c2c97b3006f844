import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { inheritedEnvironment } from '#lib/config';
import { freePort } from './free-port.js';
import { waitFor } from './wait-for.js';

/** A real kube-apiserver on its own etcd: no controller manager, no scheduler, no node. */
export interface TestApiServer {
  /** `https://127.0.0.1:PORT`; usable once `beforeAll` has run. */
  readonly url: string;
  /** Bearer token of a user in `system:masters`. */
  readonly token: string;
  /** A kubeconfig file of the same. Its server's certificate is not checked. */
  readonly kubeconfigPath: string;
  /** Ends the API server as a crash would, and starts it again on the same port and data. */
  kill(): Promise<void>;
  restart(): Promise<void>;
}

const { KUBE_HOME } = inheritedEnvironment(['KUBE_HOME']);
const BIN = join(KUBE_HOME ?? join(homedir(), '.cache/agentplane/kube'), 'bin');

/**
 * True when the binaries of test/cluster/install.sh are on this machine. Without them use `describe.skip` for
 * tests that need them.
 */
export const hasRealKubernetes = ['etcd', 'kube-apiserver'].every((name) => existsSync(join(BIN, name)));

/** A real API server for the test file that calls this: up before the tests (some 5 s), gone after them. */
export function testApiServer(): TestApiServer {
  const server = new RealApiServer();
  beforeAll(() => server.start());
  afterAll(() => server.remove());
  return server;
}

class RealApiServer implements TestApiServer {
  readonly token = randomBytes(16).toString('hex');
  readonly #folder = mkdtempSync(join(tmpdir(), 'agentplane-kube-'));
  readonly kubeconfigPath = join(this.#folder, 'kubeconfig');
  readonly #processes = new Map<string, ChildProcess>();
  #port = 0;
  #etcdPort = 0;

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    this.#port = await freePort();
    this.#etcdPort = await freePort();
    const peerPort = await freePort();
    const peer = `http://127.0.0.1:${peerPort}`;
    mkdirSync(join(this.#folder, 'certificates'));
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(join(this.#folder, 'sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }), {
      mode: 0o600,
    });
    writeFileSync(join(this.#folder, 'tokens.csv'), `${this.token},admin,admin,"system:masters"\n`, {
      mode: 0o600,
    });
    writeFileSync(this.kubeconfigPath, kubeconfig(this.url, this.token), { mode: 0o600 });
    this.#run('etcd', [
      ['data-dir', join(this.#folder, 'etcd')],
      ['listen-client-urls', this.#etcdUrl],
      ['advertise-client-urls', this.#etcdUrl],
      ['listen-peer-urls', peer],
      ['initial-advertise-peer-urls', peer],
      ['initial-cluster', `default=${peer}`],
      ['log-level', 'warn'],
      ['unsafe-no-fsync', 'true'],
    ]);
    await this.restart();
  }

  async restart(): Promise<void> {
    this.#run('kube-apiserver', [
      ['etcd-servers', this.#etcdUrl],
      ['secure-port', String(this.#port)],
      ['bind-address', '127.0.0.1'],
      // never dialled: an API server refuses to advertise loopback
      ['advertise-address', '10.96.255.254'],
      ['cert-dir', join(this.#folder, 'certificates')],
      ['token-auth-file', join(this.#folder, 'tokens.csv')],
      ['service-account-key-file', join(this.#folder, 'sa.key')],
      ['service-account-signing-key-file', join(this.#folder, 'sa.key')],
      ['service-account-issuer', 'https://kubernetes.default.svc'],
      ['authorization-mode', 'Node,RBAC'],
      ['service-cluster-ip-range', '10.96.0.0/16'],
    ]);
    await waitFor(() => isReady(this.url, this.token), {
      intervalMs: 100,
      what: 'the API server',
    });
  }

  async kill(): Promise<void> {
    await this.#end('kube-apiserver');
  }

  async remove(): Promise<void> {
    await this.#end('kube-apiserver');
    await this.#end('etcd');
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  get #etcdUrl(): string {
    return `http://127.0.0.1:${this.#etcdPort}`;
  }

  #run(name: string, flags: readonly (readonly [string, string])[]): void {
    const log = openSync(join(this.#folder, `${name}.log`), 'a');
    const child = spawn(
      join(BIN, name),
      flags.map(([flag, value]) => `--${flag}=${value}`),
      // it lives for a file: its collector is worth starting only where memory grows
      { stdio: ['ignore', log, log], env: { ...process.env, GOGC: 'off', GOMEMLIMIT: '700MiB' } },
    );
    this.#processes.set(name, child);
  }

  async #end(name: string): Promise<void> {
    const child = this.#processes.get(name);
    this.#processes.delete(name);
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }
}

function isReady(url: string, token: string): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { rejectUnauthorized: false, headers: { authorization: `Bearer ${token}` } };
    const call = request(`${url}/readyz`, options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    call.on('error', () => resolve(false));
    call.end();
  });
}

function kubeconfig(server: string, token: string): string {
  return `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "${server}", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: "${token}"}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
`;
}
