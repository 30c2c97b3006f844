import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  NAMESPACES,
  RESOURCES,
  type CustomResourceDefinition,
} from '#lib/resources';
import { testEmbeddedKube, waitFor } from '#lib/testing';
import './reference.js';

const ROOT = process.cwd();
const DOCS = join(ROOT, 'docs');

const pages = [
  ...readdirSync(ROOT).map((name) => join(ROOT, name)),
  ...readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).map((name) => join(DOCS, name)),
].filter((path) => path.endsWith('.md'));

/** As the usual renderers make them: lower case, blanks to `-`, everything else but letters, digits, `-` and `_` gone. */
function anchors(path: string): readonly string[] {
  const headings = readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function brokenLinks(page: string): readonly string[] {
  const links = readFileSync(page, 'utf8')
    .replace(/```.*?```/gs, '')
    .replace(/`[^`\n]*`/g, '')
    .matchAll(/\]\(([^)\s]+)\)/g);
  return [...links]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      return !existsSync(target) || (anchor !== undefined && !anchors(target).includes(anchor));
    });
}

describe('the documentation', () => {
  it('has pages', () => expect(pages.length).toBeGreaterThan(15));

  it.each(pages.map((page) => relative(ROOT, page)))('%s links to existing pages and sections', (page) => {
    expect(brokenLinks(join(ROOT, page))).toEqual([]);
  });

  it('links every design page from the map of the documentation', () => {
    const map = readFileSync(join(DOCS, 'README.md'), 'utf8');
    const designs = readdirSync(join(DOCS, 'design')).map((name) => `design/${name}`);
    expect(designs.filter((name) => !map.includes(`(${name})`))).toEqual([]);
  });
});

describe('the examples of the reference', () => {
  const kube = testEmbeddedKube();
  let client: KubeClient;

  beforeAll(async () => {
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath: kube.kubeconfigPath }), {
      fieldManager: 'docs',
    });
    for (const name of readdirSync(join(ROOT, 'crds')).filter((one) => one.endsWith('.yaml')))
      await client.create(
        CUSTOM_RESOURCE_DEFINITIONS,
        parse(readFileSync(join(ROOT, 'crds', name), 'utf8')) as CustomResourceDefinition,
      );
    await client.create(NAMESPACES, { metadata: { name: 'docs' } });
    await waitFor(async () => (await client.list(RESOURCES.Listener, { namespace: 'docs' })) && true);
  });

  const kinds = Object.keys(RESOURCES) as (keyof typeof RESOURCES)[];
  it.each(kinds)('creates the example of %s on an API server', async (kind) => {
    const file = `${kind.replace(/([a-z])([A-Z])/g, '$1-$2').toLowerCase()}.md`;
    const page = readFileSync(join(DOCS, 'reference', file), 'utf8');
    const [, text = ''] = /```yaml\n(.*?)```/s.exec(page) ?? [];
    const objects = text.split('\n---\n').map((part) => parse(part) as { kind: string; metadata: object });
    const example = objects.find((object) => object.kind === kind);
    const namespace = RESOURCES[kind].namespaced ? { namespace: 'docs' } : {};
    const made = await client.create(RESOURCES[kind] as never, {
      ...example,
      metadata: { ...example?.metadata, ...namespace },
    });
    expect(made).toMatchObject({ kind });
  });
});
