import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inheritedEnvironment } from '#lib/config';
import { freePort, selfSigned, waitFor } from '#lib/testing';

const run = promisify(execFile);
const TOOLS = ['skopeo', 'umoci', 'docker-registry'];
const USER = 'pusher';
const PASSWORD = 'password-of-tests';
/** Of that password, by bcrypt with its least cost. */
const LOGINS = `${USER}:$2b$04$g8khv8Vg.1E13gAJaIhfquNjF1IA.YxugNd4Uw3qEQlMELr7v7EDO\n`;
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

const areThere = TOOLS.every((tool) => spawnSync(tool, ['--version']).error === undefined);

/** Whether pushes of images can be tested here; where everything must be tested they are not left out. */
export const hasImageRegistry = areThere || inheritedEnvironment(['CI'])['CI'] !== undefined;

if (!hasImageRegistry)
  process.stderr.write(
    `\n*** LEFT OUT: ${TOOLS.join(', ')} are not all here, so the rows of images did not run ("apt-get install ${TOOLS.join(' ')}").\n\n`,
  );

/** What an image in the registry is made of. */
export interface ReadImage {
  readonly layers: number;
  readonly config: object;
  /** Of the last layer: `MODE OWNER/GROUP PATH`. */
  readonly entries: readonly string[];
}

interface Manifest {
  readonly config: { readonly digest: string };
  readonly layers: readonly { readonly digest: string }[];
}

/** A registry of images that asks for a login. */
export class TestRegistry {
  readonly host: string;
  /** The certificate that clients must trust; with TLS alone. */
  readonly ca: string;
  readonly #folder: string;
  #child: ChildProcess | undefined;

  private constructor(folder: string, host: string, ca: string) {
    this.#folder = folder;
    this.host = host;
    this.ca = ca;
  }

  static async open({ address = '127.0.0.1', withTls = false } = {}): Promise<TestRegistry> {
    if (!areThere) throw new Error(`${TOOLS.join(', ')} are not all here; apt-get install them`);
    const folder = mkdtempSync(join(tmpdir(), 'registry-'));
    const host = `${address}:${await freePort()}`;
    const { key, certificate } = await selfSigned(address);
    for (const [name, text] of Object.entries({ logins: LOGINS, key, certificate }))
      writeFileSync(join(folder, name), text);
    const tls = { key: join(folder, 'key'), certificate: join(folder, 'certificate') };
    const settings = {
      version: '0.1',
      storage: { filesystem: { rootdirectory: join(folder, 'data') }, delete: { enabled: true } },
      http: { addr: host, ...(withTls ? { tls } : {}) },
      auth: { htpasswd: { realm: 'tests', path: join(folder, 'logins') } },
    };
    writeFileSync(join(folder, 'settings.yml'), JSON.stringify(settings));
    const registry = new TestRegistry(folder, host, withTls ? certificate : '');
    await registry.start();
    return registry;
  }

  async start(): Promise<void> {
    const [address = '', port = ''] = this.host.split(':');
    this.#child = spawn('docker-registry', ['serve', join(this.#folder, 'settings.yml')], {
      stdio: 'ignore',
    });
    await waitFor(async () => {
      const socket = connect(Number(port), address);
      return await new Promise<boolean>((resolve) => {
        socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
      }).finally(() => socket.destroy());
    });
  }

  /** What was pushed stays. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The content of a Secret with the login. */
  dockerConfig(password = PASSWORD): string {
    const auth = Buffer.from(`${USER}:${password}`).toString('base64');
    return JSON.stringify({ auths: { [this.host]: { auth } } });
  }

  /** @returns path of a file with the login */
  authFile(password = PASSWORD): string {
    const path = join(this.#folder, `auth-${password.length}.json`);
    writeFileSync(path, this.dockerConfig(password));
    return path;
  }

  /** Pushes a small image with one layer, that agents can be put upon. */
  async addBase(name: string): Promise<void> {
    const work = mkdtempSync(join(this.#folder, 'base-'));
    const [layout, image] = [join(work, 'layout'), join(work, 'layout:base')];
    mkdirSync(join(work, 'content'));
    writeFileSync(join(work, 'content', 'base.txt'), 'base');
    await run('tar', ['-C', join(work, 'content'), '-cf', join(work, 'layer.tar'), '.']);
    await run('umoci', ['init', '--layout', layout]);
    await run('umoci', ['new', '--image', image]);
    await run('umoci', ['raw', 'add-layer', '--image', image, join(work, 'layer.tar')]);
    await run('umoci', ['config', '--image', image, '--config.env', 'FROM_BASE=yes']);
    await this.add(`oci:${image}`, name);
  }

  /** Pushes an image that skopeo reads. */
  async add(source: string, name: string): Promise<void> {
    const access = ['--dest-tls-verify=false', '--dest-authfile', this.authFile()];
    await run('skopeo', [
      '--insecure-policy',
      'copy',
      '--quiet',
      ...access,
      source,
      `docker://${this.host}/${name}`,
    ]);
  }

  /** @param reference `HOST/NAME@sha256:HEX` */
  async read(reference: string): Promise<ReadImage> {
    const [name = '', digest = ''] = reference.slice(this.host.length + 1).split('@');
    const manifest = (await (await this.#get(`${name}/manifests/${digest}`)).json()) as Manifest;
    const config = (await (await this.#get(`${name}/blobs/${manifest.config.digest}`)).json()) as {
      readonly config: object;
    };
    const layer = await this.#get(`${name}/blobs/${manifest.layers.at(-1)?.digest}`);
    const path = join(this.#folder, 'layer.tar.gz');
    writeFileSync(path, Buffer.from(await layer.arrayBuffer()));
    const { stdout } = await run('tar', ['-tvzf', path]);
    const entries = stdout
      .trim()
      .split('\n')
      .map((line) => line.replace(/ +\d+ \d{4}-\d\d-\d\d \d\d:\d\d /, ' '));
    return { layers: manifest.layers.length, config: config.config, entries };
  }

  async tags(name: string): Promise<readonly string[]> {
    const { tags } = (await (await this.#get(`${name}/tags/list`)).json()) as { readonly tags: string[] };
    return tags.sort();
  }

  async #get(path: string): Promise<Response> {
    const authorization = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`;
    const response = await fetch(`http://${this.host}/v2/${path}`, {
      headers: { authorization, accept: MANIFEST },
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response;
  }
}
