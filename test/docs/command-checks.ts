import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { type JsonObject, isJsonObject } from '#lib/json';
import { mergePatch } from '#lib/kube-semantics';
import { DESCRIBED_ROUTES } from '../../apps/agent-server/src/http/description/described-routes.js';
import { type ApiDocument, unknownInRequest } from '../../apps/api/src/testdata/check-exchange.js';
import { findKubectl } from '../support/kubectl.js';
import { repository } from '../support/platform.js';
import { PLACEHOLDERS } from './block-ways.js';
import { wrongWords } from './command-grammar.js';
import type { RecordedCommand } from './recorded-commands.js';

/** What a real API server says against objects; nothing is kept. */
export type ObjectCheck = (object: JsonObject) => Promise<readonly string[]>;

const read = (...path: readonly string[]): string => readFileSync(join(repository, ...path), 'utf8');
const document = JSON.parse(read('docs', 'openapi.json')) as ApiDocument;
const SCRIPTS = (JSON.parse(read('package.json')) as { scripts: object }).scripts;
const STAGES = [...read('Containerfile').matchAll(/^FROM .* AS (\S+)$/gim)].map(([, stage]) => stage);
/** Kinds of Kubernetes and Helm that pages name. */
const OTHER_KINDS = [
  'configmap',
  'crd',
  'deployments',
  'events',
  'namespace',
  'ns',
  'pods',
  'secret',
  'secrets',
  'services',
  'svc',
];

function kindsOf(file: string): readonly string[] {
  const { spec } = parse(read('crds', file)) as {
    spec: { names: { plural: string; singular: string; shortNames: string[] } };
  };
  return [spec.names.plural, spec.names.singular, ...spec.names.shortNames];
}

/** What is wrong with one command of a page; empty for nothing. */
export class CommandChecks {
  readonly #kinds: readonly string[];
  readonly #isRight: ObjectCheck;

  constructor(crdFiles: readonly string[], isRight: ObjectCheck) {
    this.#kinds = [...crdFiles.flatMap(kindsOf), ...OTHER_KINDS];
    this.#isRight = isRight;
  }

  async problems(command: RecordedCommand): Promise<readonly string[]> {
    return [...missingFiles(command), ...(await this.#ownProblems(command))];
  }

  async #ownProblems({ program, words, input }: RecordedCommand): Promise<readonly string[]> {
    const at = `${program} ${words.join(' ')}`;
    switch (program) {
      case 'npx':
        return words[0] === 'agentplane' ? await wrongWords(words.slice(1)) : [`${at}: no program of ours`];
      case 'agentplane':
        return await wrongWords(words);
      case 'npm':
        return wrongScript(words);
      case 'kubectl':
        return [
          ...wrongFlags(program, words),
          ...this.#wrongKind(words),
          ...(await this.#wrongObjects(words, input)),
        ];
      case 'helm':
        return [...wrongFlags(program, words), ...wrongValues(words)];
      case 'curl':
        return wrongRequest(words);
      case 'podman':
      case 'docker':
        return words[0] === 'build' && !STAGES.includes(words[words.indexOf('--target') + 1] ?? '')
          ? [`${at}: the Containerfile has no such target`]
          : [];
      default:
        return [];
    }
  }

  /** `get adep,arev NAME`, `wait bx/NAME`, `logs svc/NAME` */
  #wrongKind(words: readonly string[]): readonly string[] {
    const [verb = '', ...rest] = words.filter(
      (word, at) => !word.startsWith('-') && !['-n', '-f', '-p'].includes(words[at - 1] ?? ''),
    );
    const named = ['get', 'describe', 'delete', 'patch', 'explain', 'edit'].includes(verb)
      ? (rest[0] ?? '').split(',')
      : rest.filter((word) => /^[a-z]+\/\S+$/.test(word));
    return named
      .map((word) => word.split(/[./]/, 1)[0] ?? '')
      .filter((kind) => kind !== '' && !this.#kinds.includes(kind))
      .map((kind) => `kubectl ${words.join(' ')}: ${kind} is no kind here`);
  }

  async #wrongObjects(words: readonly string[], input: string): Promise<readonly string[]> {
    const file = words[words.indexOf('-f') + 1];
    if (words.includes('patch') && words.includes('-p')) return await this.#wrongPatch(words);
    if (!words.includes('apply') || file === undefined) return [];
    if (file !== '-' && !existsSync(join(repository, file))) return [];
    const objects = parseAllDocuments(file === '-' ? filledIn(input) : read(file)).map(
      (one) => one.toJS() as JsonObject,
    );
    return (await Promise.all(objects.map((object) => this.#isRight(object)))).flat();
  }

  /** The example of the kind's page, patched so, must be right. */
  async #wrongPatch(words: readonly string[]): Promise<readonly string[]> {
    const kind = words[words.indexOf('patch') + 1] ?? '';
    const file = { adep: 'agent-deployment', wsp: 'workspace' }[kind];
    if (file === undefined) return [`kubectl patch ${kind}: no example to patch`];
    const [, example = ''] = /```yaml\n(.*?)```/s.exec(read('docs', 'reference', `${file}.md`)) ?? [];
    const objects = parseAllDocuments(example).map((one) => one.toJS() as JsonObject);
    const patch = JSON.parse(words[words.indexOf('-p') + 1] ?? '') as JsonObject;
    const patched = mergePatch(objects.at(-1) ?? {}, patch);
    return isJsonObject(patched) ? await this.#isRight(patched) : ['the patch makes no object'];
  }
}

function filledIn(manifest: string): string {
  return Object.entries(PLACEHOLDERS).reduce((text, [word, here]) => text.replaceAll(word, here), manifest);
}

function missingFiles({ words }: RecordedCommand): readonly string[] {
  return words
    .filter((word) => /^(?:examples|deploy|charts|docs|scripts|test)\/[\w./-]+$/.test(word))
    .filter((word) => !existsSync(join(repository, word)))
    .map((word) => `${word} does not exist`);
}

function wrongScript(words: readonly string[]): readonly string[] {
  const [verb = '', name = ''] = words;
  const script = verb === 'run' ? name : verb;
  return ['ci', 'install', 'pack'].includes(verb) || script in SCRIPTS
    ? []
    : [`npm ${words.join(' ')}: no script`];
}

/** The program's own parser: it refuses flags that it does not know before it prints its help. */
function wrongFlags(program: 'kubectl' | 'helm', words: readonly string[]): readonly string[] {
  const home = process.env['KUBE_HOME'] ?? join(homedir(), '.cache', 'agentplane', 'kube');
  const found = program === 'kubectl' ? findKubectl() : join(home, 'bin', program);
  if (found === undefined || !existsSync(found)) return [];
  try {
    execFileSync(found, [...words, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    return [];
  } catch (error) {
    return [`${program} ${words.join(' ')}: ${String((error as { stderr?: unknown }).stderr)}`];
  }
}

function wrongValues(words: readonly string[]): readonly string[] {
  const values = parse(read('charts', 'agentplane', 'values.yaml')) as unknown;
  return words
    .filter((_word, at) => words[at - 1] === '--set')
    .map((word) => word.split('=', 1)[0] ?? '')
    .filter((path) => !hasValue(values, path.split('.')))
    .map((path) => `--set ${path}: the chart has no such value`);
}

function hasValue(values: unknown, path: readonly string[]): boolean {
  const [name, ...rest] = path;
  return name === undefined || (isJsonObject(values) && name in values && hasValue(values[name], rest));
}

/** Of a file for `helm install -f`. */
export function wrongChartValues(given: JsonObject, path: readonly string[] = []): readonly string[] {
  const values = parse(read('charts', 'agentplane', 'values.yaml')) as unknown;
  return Object.entries(given).flatMap(([name, value]) => {
    const at = [...path, name];
    if (!hasValue(values, at)) return [`${at.join('.')}: the chart has no such value`];
    return isJsonObject(value) ? wrongChartValues(value, at) : [];
  });
}

/** `http://api/…` is the api's, `http://agent/…` or `agentplane dev` an agent's. */
function wrongRequest(words: readonly string[]): readonly string[] {
  const url = words.find((word) => /^https?:/.test(word)) ?? '';
  const text = words[words.findIndex((word) => /^(?:-d|--data)$/.test(word)) + 1] ?? '';
  const hasBody = words.some((word) => /^(?:-d|--data)$/.test(word));
  const method = words.includes('-X') ? (words[words.indexOf('-X') + 1] ?? '') : hasBody ? 'POST' : 'GET';
  if (!/^http:\/\/(?:api|agent|127\.0\.0\.1:(?:2024|8123))\//.test(url))
    return [`curl ${url}: whose is that?`];
  const path = url.replace(/^http:\/\/[^/]+/, '');
  let body: unknown;
  try {
    body = hasBody ? JSON.parse(text) : undefined;
  } catch (error) {
    return [`${method} ${url}: ${String(error)}`];
  }
  if (url.startsWith('http://api/')) return unknownInRequest(document, { method, path, body });
  return wrongAgentRequest(method, path, body);
}

function wrongAgentRequest(method: string, path: string, body: unknown): readonly string[] {
  const asked = path.split('/');
  const name = Object.keys(DESCRIBED_ROUTES).find((route) => {
    const [verb = '', template = ''] = route.split(' ');
    const segments = template.split('/');
    return (
      verb === method &&
      segments.length === asked.length &&
      segments.every((segment, at) => segment.startsWith(':') || segment === asked[at])
    );
  });
  if (name === undefined) return [`${method} ${path}: an agent has no such route`];
  const checked = DESCRIBED_ROUTES[name]?.body?.safeParse(body);
  return checked === undefined || checked.success ? [] : [`${method} ${path}: ${checked.error.message}`];
}
