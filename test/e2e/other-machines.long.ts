import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { agentplane } from '../cli/agentplane.js';
import {
  newDataFolder,
  type Platform,
  removeDataFolder,
  repository,
  startPlatform,
} from '../support/platform.js';

/** As `credentials.json` names it. */
interface Tls {
  readonly url: string;
  readonly certificate: string;
}

const LISTEN = ['--listen', '0.0.0.0:0', '--tls-self-signed'];

/** An SDK of an application elsewhere; it knows nothing of this platform but its address, a key and a certificate. */
const SDK = `
import { Client } from 'langsmith';
const [apiUrl, apiKey] = process.argv.slice(1);
const client = new Client({ apiUrl, apiKey, autoBatchTracing: false });
const project = await client.createProject({ projectName: 'from-elsewhere' });
console.log(project.name);
`;

describe('a platform that serves other machines', () => {
  const data = newDataFolder();
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-others-'));
  const contexts = { XDG_CONFIG_HOME: join(folder, 'config') };
  let platform: Platform;
  let tls: Tls;
  const readTls = (): Tls =>
    (JSON.parse(readFileSync(join(data, 'credentials.json'), 'utf8')) as { readonly tls: Tls }).tls;

  beforeAll(async () => {
    platform = await startPlatform(data, { more: LISTEN });
    tls = readTls();
  });
  afterAll(async () => {
    await platform?.stop();
    removeDataFolder(data);
    rmSync(folder, { recursive: true, force: true });
  });

  it('names an address that others reach, and shows the fingerprint of its certificate', async () => {
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((one) => one?.internal === false && !one.address.startsWith('fe80:'));
    if (outside) expect(new URL(tls.url).hostname).toContain(outside.address);
    const [fingerprint = ''] = /(?:[0-9A-F]{2}:){31}[0-9A-F]{2}/.exec(platform.greeting) ?? [];
    expect(fingerprint).not.toBe('');
    const status = await agentplane(['status', '--data', data, '-o', 'json']);
    const parts = JSON.parse(status.output) as { part: string; state: string; detail: string }[];
    expect(parts.find(({ part }) => part === 'rest/tls')).toMatchObject({
      state: 'ok',
      detail: expect.stringContaining(fingerprint),
    });
  });

  it('answers nothing there in clear', async () => {
    await expect(fetch(`${tls.url.replace('https:', 'http:')}/ok`)).rejects.toThrow('fetch failed');
  });

  it('turns away a command line that does not know its certificate, which names the option', async () => {
    await add('unknown');
    const { code, complaint } = await agentplane(['traces', 'list', '--context', 'unknown'], {
      environment: contexts,
    });
    expect(code).not.toBe(0);
    expect(complaint).toContain('--ca-file');
  });

  it('serves a command line that was given the certificate', async () => {
    await add('known', '--ca-file', tls.certificate);
    const { code, output } = await agentplane(['status', '--context', 'known', '-o', 'json'], {
      environment: contexts,
    });
    expect([code, JSON.parse(output)]).toEqual([0, [{ part: 'rest', state: 'ok', detail: tls.url }]]);
  });

  it('serves an SDK whose Node was given the certificate', async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', SDK, tls.url, platform.credentials.apiKey],
      { cwd: repository, env: { ...process.env, NODE_EXTRA_CA_CERTS: tls.certificate } },
    );
    expect(stdout.trim()).toBe('from-elsewhere');
  });

  it('keeps address and certificate over a restart', async () => {
    const before = readFileSync(tls.certificate, 'utf8');
    await platform.stop();
    platform = await startPlatform(data, { more: LISTEN });
    expect(readTls()).toEqual(tls);
    expect(readFileSync(tls.certificate, 'utf8')).toBe(before);
  });

  async function add(name: string, ...more: readonly string[]): Promise<void> {
    const keyFile = join(folder, 'key');
    writeFileSync(keyFile, platform.credentials.apiKey);
    const words = ['contexts', 'add', name, '--address', tls.url, '--key-file', keyFile, ...more];
    expect((await agentplane(words, { environment: contexts })).code).toBe(0);
  }
});
