import 'reflect-metadata';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { inheritedEnvironment } from '#lib/config';
import { freePort, waitFor } from '#lib/testing';

const isThere = spawnSync('redis-server', ['--version']).status === 0;

/** Whether what needs a Redis can be tested here; where everything must be tested it is not left out. */
export const hasRedis = isThere || inheritedEnvironment(['CI'])['CI'] !== undefined;
if (!hasRedis)
  process.stderr.write(
    '\n*** LEFT OUT: redis-server is missing, so the rows of Redis did not run ("apt-get install redis-server").\n\n',
  );

export interface RedisOptions {
  readonly password?: string;
  /** A folder for its certificate; without one it speaks in clear. */
  readonly tlsFolder?: string;
  /** Further words of its command line. */
  readonly words?: readonly string[];
}

/** A real Redis that keeps nothing on disk. */
export class RedisServer {
  #child: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    private readonly options: RedisOptions,
    /** PEM file of the CA of its certificate. */
    readonly caFile: string | undefined,
  ) {}

  static async start(options: RedisOptions = {}): Promise<RedisServer> {
    const server = await RedisServer.prepare(options);
    await server.start();
    return server;
  }

  /** One that watches what the file says; it writes into the file. */
  static async startSentinel(file: string): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), {}, undefined);
    const words = [file, '--sentinel', '--port', String(server.port), '--bind', '127.0.0.1'];
    server.#child = spawn('redis-server', words, { stdio: 'ignore' });
    await waitFor(() => accepts(server.port));
    return server;
  }

  /** Its address, and nothing there yet. */
  static async prepare(options: RedisOptions = {}): Promise<RedisServer> {
    if (!isThere) throw new Error('redis-server is missing; apt-get install redis-server');
    const { tlsFolder } = options;
    return new RedisServer(await freePort(), options, tlsFolder && (await writeCertificate(tlsFolder)));
  }

  get #file(): string {
    return `agentplane-redis-${this.port}.rdb`;
  }

  get uri(): string {
    const { password, tlsFolder } = this.options;
    const user = password === undefined ? '' : `:${encodeURIComponent(password)}@`;
    return `${tlsFolder === undefined ? 'redis' : 'rediss'}://${user}127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const { password, tlsFolder: folder } = this.options;
    const port = String(this.port);
    const tls = folder === undefined ? [] : ['--tls-cert-file', join(folder, 'cert.pem')];
    if (folder !== undefined) tls.push('--tls-key-file', join(folder, 'key.pem'), '--tls-auth-clients', 'no');
    this.#child = spawn(
      'redis-server',
      [
        ...(folder === undefined ? ['--port', port] : ['--port', '0', '--tls-port', port, ...tls]),
        '--bind',
        '127.0.0.1',
        '--save',
        '',
        '--appendonly',
        'no',
        // replicas are brought up to date by a file nevertheless
        '--dir',
        tmpdir(),
        '--dbfilename',
        this.#file,
        ...(password === undefined ? [] : ['--requirepass', password]),
        ...(this.options.words ?? []),
      ],
      { stdio: 'ignore' },
    );
    await waitFor(() => accepts(this.port));
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  async stop(name: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    child.kill(name);
    await once(child, 'exit');
    rmSync(join(tmpdir(), this.#file), { force: true });
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

async function writeCertificate(folder: string): Promise<string> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=redis',
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
    extensions: [
      new x509.BasicConstraintsExtension(true),
      new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }]),
    ],
  });
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  writeFileSync(join(folder, 'key.pem'), x509.PemConverter.encode(key, 'PRIVATE KEY'));
  writeFileSync(join(folder, 'cert.pem'), certificate.toString('pem'));
  return join(folder, 'cert.pem');
}
