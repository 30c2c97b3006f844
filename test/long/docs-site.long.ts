import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import { violationsOf } from '../pages/accessibility.js';
import { Chromium, hasChromium } from '../pages/chromium.js';
import { repository } from '../support/platform.js';

if (!hasChromium && process.env.CI === 'true')
  throw new Error('chromium is missing: install it for these tests');

const SITE = join(repository, 'dist', 'site');

function filesOf(end: string): readonly string[] {
  return readdirSync(SITE, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith(end));
}

/** The documentation as `npm run docs:build` makes it, which fails on a link between pages that leads nowhere. */
describe('the site of the documentation', () => {
  beforeAll(async () => {
    await promisify(execFile)('npm', ['run', 'docs:build'], { cwd: repository, maxBuffer: 64 << 20 });
  });

  it('has a page for each page of the repository', () => {
    const pages = readdirSync(join(repository, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join('docs', name.replace(/(^|\/)README\.md$/, '$1index.md').replace(/\.md$/, '.html')));
    expect(pages.filter((name) => !existsSync(join(SITE, name)))).toEqual([]);
    expect(existsSync(join(SITE, 'index.html'))).toBe(true);
    expect(existsSync(join(SITE, 'docs', 'openapi.json'))).toBe(true);
  });

  it('searches in an index of its own', () => {
    const index = filesOf('.js').find((name) => name.includes('localSearchIndexroot'));
    expect(readFileSync(join(SITE, index ?? ''), 'utf8')).toContain('BulkExportDestination');
  });

  it('loads nothing from other hosts', () => {
    const loads = /<(?:script|img|iframe)[^>]+src="https?:|<link[^>]+href="https?:/;
    expect(filesOf('.html').filter((name) => loads.test(readFileSync(join(SITE, name), 'utf8')))).toEqual([]);
    const styles = filesOf('.css').filter((name) =>
      /url\(["']?https?:/.test(readFileSync(join(SITE, name), 'utf8')),
    );
    expect(styles).toEqual([]);
  });
});

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** The files of the site as any web server has them. */
async function serveSite(): Promise<Server> {
  const server = createServer(({ url = '/' }, response) => {
    const path = join(SITE, decodeURIComponent(new URL(url, 'http://site').pathname));
    const file = path.endsWith('/') ? `${path}index.html` : path;
    const shown = existsSync(file) ? file : join(SITE, '404.html');
    const type = TYPES[extname(shown)] ?? 'application/octet-stream';
    response.writeHead(shown === file ? 200 : 404, { 'content-type': type });
    response.end(readFileSync(shown));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

(hasChromium ? describe : describe.skip)('the site in a browser', () => {
  let browser: Chromium;
  let server: Server;

  beforeAll(async () => {
    server = await serveSite();
    browser = await Chromium.start();
  });
  afterAll(async () => {
    await browser.stop();
    server.close();
  });

  const LOOKS = (['light', 'dark'] as const).flatMap((scheme) =>
    [1_280, 390].map((width) => ({ scheme, width })),
  );

  /** What axe finds on a page. */
  async function look(page: string, looks: typeof LOOKS): Promise<unknown[]> {
    const found: unknown[] = [];
    for (const { scheme, width } of looks) {
      await browser.show({ width, scheme });
      await browser.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/${page}`);
      await browser.picture(`site-${page.replaceAll('/', '-')}-${scheme}-${width}`);
      found.push(...(await violationsOf(browser)).map((one) => [page, scheme, width, one]));
    }
    return found;
  }

  it.each([
    '',
    'docs/tutorial.html',
    'docs/reference/kinds.html',
    'docs/design/first-light.html',
    'missing.html',
  ])('breaks no rule of axe in any look: /%s', async (page) => {
    expect(await look(page, LOOKS)).toEqual([]);
  });

  it('breaks no rule of axe on any page, in one look each', async () => {
    const found: unknown[] = [];
    for (const [at, page] of filesOf('.html').entries())
      found.push(...(await look(page, LOOKS.slice(at % LOOKS.length).slice(0, 1))));
    expect(found).toEqual([]);
  });

  it.each(LOOKS)('breaks no rule of axe while it searches: $scheme, $width', async ({ scheme, width }) => {
    await browser.show({ width, scheme });
    await browser.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    // the button does nothing until the script of the page has started
    await waitFor(async () => {
      await browser.read(`document.querySelector('.DocSearch-Button').click()`);
      return await browser.read(`document.querySelector('.VPLocalSearchBox input') !== null`);
    });
    await browser.read(`document.querySelector('.VPLocalSearchBox input').focus()`);
    await browser.send('Input.insertText', { text: 'delete a user' });
    await waitFor(() => browser.read(`document.querySelector('.VPLocalSearchBox .result') !== null`));
    await browser.picture(`search-${scheme}-${width}`);
    expect(await violationsOf(browser)).toEqual([]);
  });
});
