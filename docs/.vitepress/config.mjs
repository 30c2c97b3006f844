// The pages of docs/ and of the repository's root as a site of files, with a search that asks no host: npm run docs:build.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..', '..');
/** Pages of the root; everything else of the site lies in docs/. */
const ROOT_PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];
/** These come first, in this order; the other pages of docs/ follow by name. */
const FIRST = [
  'tutorial',
  'concepts',
  'agents',
  'exporting',
  'dashboard',
  'operations',
  'runbook',
  'cluster',
  'scaling',
];

function titleOf(path) {
  const [, title = path] = /^# (.*)$/m.exec(readFileSync(join(ROOT, path), 'utf8')) ?? [];
  return title.replaceAll('`', '');
}

/** Entries of the pages of one folder. */
function entries(folder, names = pagesOf(folder)) {
  return names.map((name) => ({ text: titleOf(`${folder}/${name}.md`), link: `/${folder}/${name}` }));
}

function pagesOf(folder) {
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => name.slice(0, -3))
    .sort();
}

const guides = [...FIRST, ...pagesOf('docs').filter((name) => !FIRST.includes(name))];

/** Files that pages link to and that are no pages: they are copied beside them. */
const linkedFiles = new Set();

/** Links to files of the repository stay links to files; one to a folder has no page, and none is made. */
function linkFiles(markdown) {
  markdown.core.ruler.push('linked-files', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      if (!href || /^[a-z]+:|^#|\.md(#|$)/.test(href)) continue;
      const path = resolve(ROOT, dirname(env.relativePath ?? ''), href);
      if (!path.startsWith(`${ROOT}/`) || !existsSync(path)) continue;
      linkedFiles.add(path.slice(ROOT.length + 1));
      token.attrSet('target', '_self');
    }
  });
}

/** @type {import('vitepress').UserConfig} */
export default {
  title: 'Agentplane',
  description: 'An open, self-hosted platform for agent servers',
  srcDir: '../',
  srcExclude: readdirSync(ROOT, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'docs')
    .map(({ name }) => `${name}/**`),
  outDir: '../dist/site',
  cacheDir: '../node_modules/.cache/vitepress',
  // every page of docs/ by its path; the index pages are those that the repository shows
  rewrites: (path) => path.replace(/(^|\/)README\.md$/, '$1index.md'),
  cleanUrls: false,
  lastUpdated: false,
  markdown: { config: linkFiles, languageAlias: { console: 'sh', clickhouse: 'sql', pyspark: 'python' } },
  // test/docs looks after links to files that are no pages
  ignoreDeadLinks: [
    /\.(json|ya?ml|ts|mjs|py|sh|svg|service|plist)$/,
    /\/(examples|scripts|apps|libs|test|deploy|charts|crds)\//,
    /LICENSE$/,
  ],
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Tutorial', link: '/docs/tutorial' },
      { text: 'Concepts', link: '/docs/concepts' },
      { text: 'Reference', link: '/docs/reference/' },
      { text: 'Runbook', link: '/docs/runbook' },
    ],
    sidebar: [
      { text: 'Start', items: [{ text: 'Five minutes', link: '/' }, ...entries('docs', guides.slice(0, 2))] },
      { text: 'Guides', items: entries('docs', guides.slice(2)) },
      {
        text: 'Reference',
        items: [{ text: 'Pages', link: '/docs/reference/' }, ...entries('docs/reference')],
      },
      { text: 'Design', collapsed: true, items: entries('docs/design') },
      {
        text: 'Project',
        items: ROOT_PAGES.slice(1).map((name) => ({ text: titleOf(name), link: `/${name.slice(0, -3)}` })),
      },
    ],
    outline: { level: [2, 3] },
    docFooter: { prev: false, next: false },
  },
  buildEnd({ outDir }) {
    for (const path of linkedFiles) {
      const to = join(outDir, path);
      mkdirSync(dirname(to), { recursive: true });
      try {
        copyFileSync(join(ROOT, path), to);
      } catch (error) {
        // a folder
        if (error.code !== 'EISDIR' && error.code !== 'ERR_FS_EISDIR') throw error;
      }
    }
  },
};
