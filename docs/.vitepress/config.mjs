// The pages of docs/ and of the repository's root as a site of files, with a search that asks no host: npm run docs:build.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { SEARCH } from './search.mjs';

const ROOT = resolve(import.meta.dirname, '..', '..');
/** Pages of the root; everything else of the site lies in docs/. */
const ROOT_PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];
/** Guides by what their reader wants to do; a page that is in no group comes last. */
const TASKS = {
  'Build agents': ['agents', 'prompts', 'runs', 'store', 'agent-auth', 'http', 'a2a', 'generative-ui'],
  'See what they did': ['console', 'dashboard', 'costs', 'feedback', 'evaluation', 'otlp'],
  'Export traces': ['exporting', 'reading-exports', 'warehouses'],
  'Run the platform': [
    'operations',
    'backup',
    'secrets-and-keys',
    'network',
    'workspaces',
    'keep-and-delete',
    'sizing',
    'runbook',
  ],
  'On a cluster': ['cluster', 'scaling'],
};
const FIRST = ['tutorial', 'concepts', 'coming-from'];
/** Results of measurements: they are part of the project, not of its guides. */
const RESULTS = ['benchmarks', 'long-tests'];

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

const grouped = new Set([...Object.values(TASKS).flat(), ...FIRST, ...RESULTS]);
const others = pagesOf('docs').filter((name) => !grouped.has(name));

/** Pages that the search leaves out: they answer why, how fast and since when, and their words drown the answers. */
const NOT_SEARCHED = /^(CHANGELOG|CONTRIBUTING)\.md$|^docs\/(design\/|benchmarks\.md$|long-tests\.md$)/;

/** Text of a page for the search. */
function searchedText(source, env, markdown) {
  const html = markdown.render(source, env);
  return NOT_SEARCHED.test(env.relativePath) ? '' : html;
}

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

/** A heading without words is no heading of its column: it becomes a cell. */
function unheadEmptyCells(markdown) {
  markdown.core.ruler.push('empty-headings', ({ tokens }) => {
    for (const [at, { type }] of tokens.entries()) {
      if (type !== 'th_open' || tokens[at + 1]?.content !== '') continue;
      tokens[at].tag = 'td';
      tokens[at + 2].tag = 'td';
    }
  });
}

/** Attributes of VitePress that make the box of the search a button around links, and its results options around links. */
const WRONG_ROLES = [
  [/role="button"\s+:aria-owns="[^"]*"\s+aria-expanded="true"\s+aria-haspopup="listbox"/, 'role="search"'],
  [/:aria-activedescendant="[^"]*"\s+aria-autocomplete="both"\s+:aria-controls="[^"]*"/, ''],
  [/:role="results\?\.length[^"]*"/, ''],
  [/:aria-selected="[^"]*"\s+role="option"/, ''],
  [/:aria-label="\[\.\.\.p\.titles[^"]*"/, ''],
  [/<kbd :aria-label=/g, '<kbd role="img" :aria-label='],
];

/** Leaves a search box with a list of links, which the theme of VitePress has no setting for. */
const SEARCH_OF_LINKS = {
  name: 'search-of-links',
  enforce: 'pre',
  transform(code, id) {
    if (!id.endsWith('/VPLocalSearchBox.vue')) return undefined;
    return WRONG_ROLES.reduce((text, [wrong, right]) => {
      const changed = text.replace(wrong, right);
      if (changed !== text) return changed;
      throw new Error(`the search box of VitePress has changed: it has no ${wrong}`);
    }, code);
  },
};

/** Groups of pages beside every page. */
const GROUPS = [
  { text: 'Start', items: [{ text: 'Five minutes', link: '/' }, ...entries('docs', FIRST)] },
  ...Object.entries(TASKS).map(([text, names]) => ({ text, items: entries('docs', names) })),
  ...(others.length > 0 ? [{ text: 'More', items: entries('docs', others) }] : []),
  { text: 'Reference', items: [{ text: 'Pages', link: '/docs/reference/' }, ...entries('docs/reference')] },
  {
    text: 'Project',
    items: [
      ...ROOT_PAGES.slice(1).map((name) => ({ text: titleOf(name), link: `/${name.slice(0, -3)}` })),
      ...entries('docs', RESULTS),
      { text: 'Design', link: '/docs/design/first-light' },
    ],
  },
];

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
  markdown: {
    config(markdown) {
      linkFiles(markdown);
      unheadEmptyCells(markdown);
    },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    languageAlias: { console: 'sh', clickhouse: 'sql', pyspark: 'python' },
  },
  // test/docs looks after links to files that are no pages
  ignoreDeadLinks: [
    /\.(json|ya?ml|ts|mjs|py|sh|svg|service|plist)$/,
    /\/(examples|scripts|apps|libs|test|deploy|charts|crds)\//,
    /LICENSE$/,
  ],
  vite: { plugins: [SEARCH_OF_LINKS] },
  themeConfig: {
    search: { provider: 'local', options: { _render: searchedText, miniSearch: SEARCH } },
    nav: [
      { text: 'Tutorial', link: '/docs/tutorial' },
      { text: 'Concepts', link: '/docs/concepts' },
      { text: 'Reference', link: '/docs/reference/' },
      { text: 'Runbook', link: '/docs/runbook' },
    ],
    // a group that folds has a button in a button, so the pages of the design are listed beside themselves alone
    sidebar: {
      '/docs/design/': [{ text: 'Design', items: entries('docs/design') }, ...GROUPS],
      '/': GROUPS,
    },
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
