import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { repository } from '../support/platform.js';

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
