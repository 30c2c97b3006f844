import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { isJsonObject, type JsonObject } from '#lib/json';
import { parseFilter } from '#lib/filter-language';
import { parseGraphConfiguration } from '#lib/graph-configuration';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  NAMESPACES,
  PODS,
  RESOURCES,
  SERVICE_ACCOUNTS,
  type CustomResourceDefinition,
} from '#lib/resources';
import { temporaryFolder, testEmbeddedKube, waitFor } from '#lib/testing';
import { readModelPrices } from '#lib/trace-store';
import { type ApiDocument, unknownInRequest } from '../../apps/api/src/testdata/check-exchange.js';
import { repository } from '../support/platform.js';
import {
  BLOCKS_BY_SPEC,
  GIVEN_TO_TYPES,
  GIVEN_VARIABLES,
  JSON_BODIES,
  JSON_TYPES,
  LEFT_OUT,
  NO_COMMANDS,
} from './block-ways.js';
import { CommandChecks, wrongChartValues } from './command-checks.js';
import { wrongWords } from './command-grammar.js';
import { type FencedBlock, fencedBlocks } from './page-blocks.js';
import { recordCommands } from './recorded-commands.js';
import './reference.js';
import { typeProblems } from './typed-block.js';

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...['docs', 'docs/design', 'docs/reference'].flatMap((folder) =>
    readdirSync(join(repository, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
];
const SHELL = /^(?:|sh|bash)(?: stays)?$/;
const CRD_FILES = readdirSync(join(repository, 'crds')).filter((name) => name.endsWith('.yaml'));

const blocksOf = (page: string): readonly FencedBlock[] => fencedBlocks(join(repository, page));
const languageOf = ({ info }: FencedBlock): string => info.split(' ', 1)[0] ?? '';
const first = ({ text }: FencedBlock): string => text.split('\n', 1)[0] ?? '';

const patch = (change: string): string => `kubectl patch adep my-agent --type=merge -p '${change}'`;

/** Every fenced block of the documentation is tried: run by a spec, or read by the program that would read it. */
describe('the blocks of the documentation', () => {
  const kube = testEmbeddedKube();
  let client: KubeClient;
  let checks: CommandChecks;

  beforeAll(async () => {
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath: kube.kubeconfigPath }), {
      fieldManager: 'docs',
    });
    for (const name of CRD_FILES)
      await client.create(
        CUSTOM_RESOURCE_DEFINITIONS,
        parse(readFileSync(join(repository, 'crds', name), 'utf8')) as CustomResourceDefinition,
      );
    await client.create(NAMESPACES, { metadata: { name: 'docs' } });
    await client.create(SERVICE_ACCOUNTS, { metadata: { name: 'default', namespace: 'docs' } });
    await waitFor(async () => (await client.list(RESOURCES.Listener, { namespace: 'docs' })) && true);
    checks = new CommandChecks(CRD_FILES, objectProblems);
  });

  /** What the API server says, and what it would drop without a word. */
  async function objectProblems(object: JsonObject): Promise<readonly string[]> {
    const name = String(object['kind']);
    if (name === 'Secret' || name === 'Namespace') return [];
    const kind = (Object.keys(RESOURCES) as (keyof typeof RESOURCES)[]).find((one) => one === name);
    if (kind === undefined) return [`${name} is no kind`];
    const { namespaced } = RESOURCES[kind];
    const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
    const draft = { ...object, metadata: { ...metadata, ...(namespaced ? { namespace: 'docs' } : {}) } };
    try {
      const made = await client.create(RESOURCES[kind] as never, draft, { dryRun: true });
      expect(made).toMatchObject({ spec: object['spec'] });
      return [];
    } catch (error) {
      return [`${kind}: ${String(error)}`];
    }
  }

  /** An object of the platform's, values of the chart, or the part of a container that a page is about. */
  async function manifestProblems(part: JsonObject): Promise<readonly string[]> {
    if ('kind' in part) return await objectProblems(part);
    if (!('env' in part)) return wrongChartValues(part);
    const container = { name: 'program', image: 'program', ...part };
    const draft = { metadata: { name: 'part', namespace: 'docs' }, spec: { containers: [container] } };
    const made = await client.create(PODS, draft, { dryRun: true });
    expect(made.spec?.containers).toMatchObject([container]);
    return [];
  }

  it.each(PAGES)('uses programs, options, kinds, routes and files that exist in %s', async (page) => {
    const blocks = blocksOf(page).filter(({ info }) => SHELL.test(info));
    const { commands, complaints } = recordCommands(
      blocks.map(({ text }) => text),
      Object.fromEntries(GIVEN_VARIABLES.map((name) => [name, 'given'])),
    );
    const problems = [];
    for (const command of commands)
      for (const problem of await checks.problems(command))
        problems.push(`line ${blocks[command.block]?.line ?? 0}: ${problem}`);
    expect([complaints, problems]).toEqual(['', []]);
    expect(new Set(commands.map(({ block }) => block)).size).toBe(
      blocks.filter(
        ({ text }) =>
          !text
            .trim()
            .split('\n')
            .every((line) => line.startsWith('export ')),
      ).length,
    );
  });

  it.each([
    ['an option that does not exist', 'npx agentplane export create day --projekt sample-agent', /--projekt/],
    ['a command that does not exist', 'agentplane exports make', /unknown command/],
    ['a value that is refused', 'agentplane export create day --project a --every now', /--every/],
    ['a script that does not exist', 'npm run nothing', /no script/],
    ['a kind that does not exist', 'kubectl get agentdeploys', /no kind/],
    ['a file that does not exist', 'kubectl apply -f examples/nothing.yaml', /does not exist/],
    [
      'a member that the kind does not have',
      patch('{"spec":{"idleSecs":1}}'),
      /idleSecs|deepEqual|toMatchObject/,
    ],
    ['a member of a wrong type', patch('{"spec":{"idleSeconds":"soon"}}'), /idleSeconds/],
    ['a route that does not exist', 'curl -s http://api/v2/deploys', /not in the document/],
    [
      'a member of a body that does not exist',
      'curl http://api/api/v1/api-key -d \'{"nothing":1}\'',
      /nothing/,
    ],
    ['a route that no agent has', 'curl -s http://agent/walks', /no such route/],
    ['a value that the chart does not have', 'helm install a charts/agentplane --set images.a=1', /images/],
  ])('finds %s', async (_title, text, expected) => {
    const { commands } = recordCommands([text]);
    const found = await Promise.all(commands.map((command) => checks.problems(command)));
    expect(found.flat().join('\n')).toMatch(expected);
  });

  it('finds a variable that no block sets, and a program that no page may need', () => {
    expect(recordCommands(['curl $NOWHERE/runs']).complaints).toContain('NOWHERE: unbound variable');
    expect(recordCommands(['jq .id']).complaints).toContain('jq: command not found');
  });

  const json = PAGES.flatMap((page) =>
    blocksOf(page)
      .filter((block) => languageOf(block) === 'json' && !(page in JSON_TYPES))
      .map((block): [string, string, FencedBlock] => [page, first(block), block]),
  );
  const pricesFile = join(temporaryFolder(), 'prices.json');
  it.each(json)('has JSON in %s that its reader takes: %s', async (page, _title, { text }) => {
    const value: unknown = JSON.parse(text);
    if (text.includes('"lists"')) {
      writeFileSync(pricesFile, text);
      expect(await readModelPrices(pricesFile)).not.toEqual([]);
      return;
    }
    const route = JSON_BODIES[page];
    if (route === undefined) {
      // pages show the part that they are about
      const whole = { graphs: { agent: './src/agent.ts:graph' }, ...(value as object) };
      expect(parseGraphConfiguration(JSON.stringify(whole), ['javascript', 'python']).notes).toEqual([]);
      return;
    }
    const [method = '', path = ''] = route.split(' ');
    const document = JSON.parse(
      readFileSync(join(repository, 'docs', 'openapi.json'), 'utf8'),
    ) as ApiDocument;
    expect(unknownInRequest(document, { method, path, body: value })).toEqual([]);
  });

  it('has JSON of the type that its page is about', () => {
    const texts = Object.entries(JSON_TYPES).flatMap(([page, { type, from }]) =>
      blocksOf(page)
        .filter((block) => languageOf(block) === 'json')
        .map(({ text }, at): [string, string] => [
          `${page.replaceAll(/\W/g, '-')}-${at + 1}.ts`,
          `import type * as lib from '${from}';\nconst value: ${type} = ${text};\nexport { value };\n`,
        ]),
    );
    expect(texts).not.toEqual([]);
    expect(typeProblems(Object.fromEntries(texts))).toEqual([]);
  });

  const manifests = PAGES.flatMap((page) =>
    blocksOf(page)
      .filter((block) => languageOf(block) === 'yaml')
      .map((block): [string, string, FencedBlock] => [page, first(block), block]),
  );
  it.each(manifests)(
    'has objects in %s that the API server takes whole: %s',
    async (_page, _title, { text }) => {
      const objects = parseAllDocuments(text).map((one) => one.toJS() as JsonObject);
      expect((await Promise.all(objects.map(manifestProblems))).flat()).toEqual([]);
    },
  );

  it('has filters that parse', () => {
    const filters = PAGES.flatMap((page) =>
      blocksOf(page)
        .filter((block) => languageOf(block) === 'filter')
        .flatMap(({ text }) => text.trim().split('\n')),
    );
    expect(filters.length).toBeGreaterThan(3);
    for (const filter of filters) expect(parseFilter(filter)).toBeDefined();
  });

  it('has TypeScript that compiles with the packages that an agent has', () => {
    const blocks = PAGES.flatMap((page) =>
      blocksOf(page)
        .filter((block) => ['ts', 'tsx'].includes(languageOf(block)))
        .map((block, at) => ({ page, at, block })),
    );
    const texts = blocks.map(({ page, at, block }): [string, string] => {
      const name = `${page.replaceAll(/\W/g, '-')}-${at + 1}.${languageOf(block)}`;
      return [name, `${GIVEN_TO_TYPES[`${page} ${at + 1}`] ?? ''}${block.text}\nexport {};\n`];
    });
    expect(texts.length).toBeGreaterThan(5);
    expect(typeProblems(Object.fromEntries(texts))).toEqual([]);
  });

  const python = process.env['AGENTPLANE_TEST_PYTHON'] ?? 'python3';
  const parsed = PAGES.flatMap((page) =>
    blocksOf(page)
      .filter((block) => ['python', 'pyspark'].includes(languageOf(block)))
      .map((block): [string, string, FencedBlock] => [page, first(block), block]),
  );
  it.each(parsed)('has Python in %s that compiles: %s', (_page, _title, { text }) => {
    const compile = 'import ast, sys; ast.parse(sys.stdin.read())';
    execFileSync(python, ['-c', compile], { input: text, stdio: ['pipe', 'pipe', 'pipe'] });
  });

  it('has a way in which it is tried, or a reason why not', () => {
    const known = new Set(['', 'sh', 'bash', 'json', 'yaml', 'filter', 'ts', 'tsx', 'python', 'pyspark']);
    const untried = PAGES.flatMap((page) =>
      blocksOf(page)
        .filter((block) => !known.has(languageOf(block)))
        .filter(({ info }) => !(info in LEFT_OUT))
        .filter(() => !(page in BLOCKS_BY_SPEC))
        .map(({ info, line }) => `${page}:${line}: ${info}`),
    );
    expect(untried).toEqual([]);
  });

  it.each(Object.entries(BLOCKS_BY_SPEC))('has %s run by %s', (page, spec) => {
    const path = join(repository, spec);
    expect(existsSync(path)).toBe(true);
    expect(readFileSync(path, 'utf8')).toContain(page.replace(/^.*\//, ''));
  });
});

/** Made from the table of commands that the checks read, with `<name>` for an argument. */
const GRAMMAR = 'docs/reference/cli.md';

describe('a command in the text of a page', () => {
  const written = PAGES.filter((page) => page !== GRAMMAR).flatMap((page) =>
    [
      ...readFileSync(join(repository, page), 'utf8')
        .replaceAll(/^```[^]*?^```$/gm, '')
        .matchAll(/`(?:npx )?agentplane ([a-z][^`\n]*)`/g),
    ]
      .map(([, words = '']): [string, string] => [page, words.replaceAll('\\|', '|')])
      .filter(([, words]) => !(words in NO_COMMANDS)),
  );

  it.each(written)('exists where %s has it: agentplane %s', async (_page, text) => {
    const { commands, complaints } = recordCommands([`agentplane ${text.replace(/ ?…/g, '')}`]);
    expect(complaints).toBe('');
    const problems = await wrongWords(commands.find(({ program }) => program === 'agentplane')?.words ?? []);
    // a text may name a command without its arguments
    expect(problems.filter((problem) => !problem.includes('missing required argument'))).toEqual([]);
  });
});
