import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { errorText, TerminalError, WaitingError } from '#lib/errors';
import { temporaryFolder } from '#lib/testing';
import { findPackageManager, readManifest } from './package-manager.js';
import { registryOutage, runPackageManager } from './install-dependencies.js';

const root = temporaryFolder();

/** A registry of one package, which answers as it is told. */
class Registry {
  status = 200;
  readonly #server: Server;

  constructor(archive: Buffer) {
    this.#server = createServer((request, response) => {
      const isArchive = request.url?.endsWith('.tgz') === true;
      response.writeHead(isArchive ? this.status : 404).end(this.status === 200 ? archive : 'no');
    });
  }

  async open(port = 0): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

describe('a package registry', () => {
  let registry: Registry;
  let made = 0;
  afterEach(() => registry.close());

  /** Another each time, packed with a cache of its own: npm installs what its cache holds without asking. */
  function pack(): Buffer {
    const source = join(root, `tiny-${made++}`);
    mkdirSync(source);
    const manifest = { name: 'tiny', version: '1.0.0', description: source };
    writeFileSync(join(source, 'package.json'), JSON.stringify(manifest));
    execFileSync('npm', ['pack', '--pack-destination', source, '--cache', join(root, 'cache')], {
      cwd: source,
      stdio: 'ignore',
    });
    return readFileSync(join(source, 'tiny-1.0.0.tgz'));
  }

  function folderFor(address: string, content: Buffer): string {
    const folder = join(root, `folder-${made++}`);
    mkdirSync(folder);
    const manifest = { name: 'x', version: '1.0.0', dependencies: { tiny: '1.0.0' } };
    const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`;
    const tiny = { version: '1.0.0', resolved: `${address}/tiny/-/tiny-1.0.0.tgz`, integrity };
    const packages = { '': manifest, 'node_modules/tiny': tiny };
    const lock = { name: 'x', version: '1.0.0', lockfileVersion: 3, packages };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
    // npm alone would ask three times, with pauses
    writeFileSync(join(folder, '.npmrc'), `registry=${address}/\nfetch-retries=0\n`);
    return folder;
  }

  async function install(folder: string): Promise<unknown> {
    const manager = findPackageManager(folder, readManifest(folder) ?? {});
    if (!manager) throw new Error('the folder has no lock file');
    return runPackageManager(folder, manager).then(
      () => 'installed',
      (error: unknown) => error,
    );
  }

  it('fails an installation as unavailable while it refuses, and serves a later one', async () => {
    const archive = pack();
    registry = new Registry(archive);
    const port = await registry.open();
    const folder = folderFor(`http://127.0.0.1:${port}`, archive);
    registry.close();
    const refused = await install(folder);
    expect(refused).toBeInstanceOf(WaitingError);
    expect(refused).toMatchObject({ reason: 'DependencyUnavailable' });
    expect(errorText(refused)).toMatch(
      /^npm could not install what package-lock\.json names: the package registry is unavailable \(ECONNREFUSED\); run the same again/,
    );
    registry = new Registry(archive);
    await registry.open(port);
    registry.status = 503;
    expect(errorText(await install(folder))).toContain('(E503)');
    registry.status = 200;
    expect(await install(folder)).toBe('installed');
  });

  it('fails an installation as unavailable when its name cannot be resolved', async () => {
    const archive = pack();
    registry = new Registry(archive);
    expect(await install(folderFor('http://registry.invalid', archive))).toBeInstanceOf(WaitingError);
  });

  it.each([
    ['does not have the package', 404, undefined],
    ['refuses the caller', 401, undefined],
    ['serves another content than the lock file names', 200, Buffer.from('other')],
  ])('ends the installation when it %s', async (_name, status, content) => {
    const archive = pack();
    registry = new Registry(archive);
    registry.status = status;
    const address = `http://127.0.0.1:${await registry.open()}`;
    const error = await install(folderFor(address, content ?? archive));
    expect(error).toBeInstanceOf(TerminalError);
    expect(error).toMatchObject({ reason: 'InstallFailed' });
  });
});

describe('registryOutage', () => {
  it.each([
    ['npm error code ENOTFOUND\nnpm error network request failed', 'ENOTFOUND'],
    ['npm error code E503\nnpm error 503', 'E503'],
    ['npm error code E404', undefined],
    ['npm error code EINTEGRITY', undefined],
    ['npm error code 1\nconnect ECONNREFUSED 127.0.0.1:1 of an install script', undefined],
    [' ERR_PNPM_FETCH_503  GET http://registry/is-number: Service Unavailable - 503', 'E503'],
    [' ERR_PNPM_FETCH_404  GET http://registry/is-number: Not Found - 404', undefined],
    [' ECONNREFUSED  request to http://registry/is-number.tgz failed, reason: connect', 'ECONNREFUSED'],
    ['error Error: connect ECONNREFUSED 127.0.0.1:9\n    at TCPConnectWrap', 'ECONNREFUSED'],
    ['error Error: getaddrinfo ENOTFOUND registry.invalid', 'ENOTFOUND'],
    ['error An unexpected error occurred: "http://r/t.tgz: ESOCKETTIMEDOUT".', 'ESOCKETTIMEDOUT'],
    ['error Error: http://r/tiny.tgz: Request failed "503 Service Unavailable"', 'E503'],
    ['error An unexpected error occurred: "http://r/tiny.tgz: Request failed \\"429 Too Many\\"".', 'E429'],
    ['error Error: http://r/tiny.tgz: Request failed "404 Not Found"', undefined],
    ['error /x: Command failed.\nOutput: Error: connect ECONNREFUSED of an install script', undefined],
    ['➤ YN0001: │ RequestError: connect ECONNREFUSED 127.0.0.1:9', 'ECONNREFUSED'],
    ['➤ YN0001: │ RequestError: getaddrinfo ENOTFOUND registry.invalid', 'ENOTFOUND'],
    [
      '➤ YN0035: │ tiny@npm:1.0.0: The registry appears to be down\n➤ YN0035: │   Response Code: 503 (Service Unavailable)',
      'E503',
    ],
    [
      '➤ YN0035: │ tiny@npm:1.0.0: Package not found\n➤ YN0035: │   Response Code: 404 (Not Found)',
      undefined,
    ],
    ['nothing that is known', undefined],
  ])('reads %j as %s', (output, code) => {
    expect(registryOutage(output)).toBe(code);
  });
});
