import { execFileSync } from 'node:child_process';
import { createReadStream, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repository } from './platform.js';

/** An index of Python packages on this machine. */
export interface PythonIndex {
  /** As pip takes it. */
  readonly url: string;
  /** Paths that were asked for. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

const TESTDATA = join(repository, 'libs', 'image-store', 'testdata', 'python');

/**
 * Serves the packages of an interpreter's environment.
 * @param more packages of nothing beside them, as `NAME==VERSION`
 */
export async function pythonIndex(python: string, more: readonly string[] = []): Promise<PythonIndex> {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-index-'));
  execFileSync(python, [join(TESTDATA, 'pack-wheels.py'), folder]);
  if (more.length > 0) execFileSync(python, [join(TESTDATA, 'make-wheels.py'), folder, ...more]);
  const wheels = readdirSync(folder).filter((name) => name.endsWith('.whl'));
  const requests: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    requests.push(url);
    const [, kind, name = ''] = url.split('/');
    if (kind === 'wheels' && wheels.includes(decodeURIComponent(name)))
      return void createReadStream(join(folder, decodeURIComponent(name))).pipe(response);
    const found = wheels.filter((wheel) => normalized(wheel.split('-')[0] ?? '') === normalized(name));
    if (kind !== 'simple' || found.length === 0) return void response.writeHead(404).end();
    const links = found.map((wheel) => `<a href="/wheels/${encodeURIComponent(wheel)}">${wheel}</a>`);
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!DOCTYPE html>${links.join('\n')}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/simple/`,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function normalized(name: string): string {
  return name.replaceAll(/[-_.]+/g, '-').toLowerCase();
}
