import type { JsonObject } from '#lib/json';
import type { GraphLanguage } from './parse-export.js';
import { httpNote, httpRefusal } from './http-settings.js';
import { storeRefusal } from './store-settings.js';
import { checkpointerRefusal } from './checkpointer-settings.js';
import { parseUi, parseUiConfig } from './parse-ui-settings.js';
import { parseWebhookSettings } from './parse-webhook-settings.js';

type Judgement = { readonly refusal: string } | { readonly note: string } | undefined;
type Judge = (value: unknown, language: GraphLanguage) => Judgement;

const drives: Judge = () => undefined;
const refuse =
  (why: string): Judge =>
  () => ({ refusal: why });
const note =
  (why: string): Judge =>
  () => ({ note: why });

const NODE_VERSIONS = ['20', '22', '24'];

function judgeHttp(value: unknown): Judgement {
  const refusal = httpRefusal(value);
  if (refusal !== undefined) return { refusal };
  const found = httpNote(value);
  return found === undefined ? undefined : { note: found };
}

function judgeDependencies(value: unknown): Judgement {
  const others = (Array.isArray(value) ? value : []).filter((entry) => entry !== '.' && entry !== './');
  return others.length === 0
    ? undefined
    : {
        refusal: `${others.join(', ')} cannot be installed; name packages in package.json and its lock file`,
      };
}

function judgeCheckpointer(value: unknown): Judgement {
  const refusal = checkpointerRefusal(value);
  return refusal === undefined ? undefined : { refusal };
}

function refuseAll(problems: readonly string[]): Judgement {
  return problems.length === 0 ? undefined : { refusal: problems.join('; ') };
}

const BUILT_ELSEWHERE = 'it belongs to builds of container images';
const OF_PYTHON = 'it belongs to Python graphs';

/** Parts of `dockerfile_lines`: those with a meaning without a container, and the rest. */
export interface DockerfileLines {
  /** Packages that pip is to install. */
  readonly packages: readonly string[];
  /** Other commands; comments are none. */
  readonly others: readonly string[];
}

const PIP_INSTALL = /^RUN\s+(?:python3?\s+-m\s+|uv\s+)?pip3?\s+install\s+(.+)$/;
const PACKAGE = /^[A-Za-z0-9][\w.-]*(\[[\w,.-]+\])?([=<>!~]=?[\w.*+!-]+)?(,[=<>!~]=?[\w.*+!-]+)*$/;

export function parseDockerfileLines(value: unknown): DockerfileLines {
  const packages: string[] = [];
  const others: string[] = [];
  for (const line of Array.isArray(value) ? value.map(String) : []) {
    if (/^\s*(#.*)?$/.test(line)) continue;
    const words = PIP_INSTALL.exec(line.trim())?.[1]?.replaceAll(/["']/g, '').split(/\s+/) ?? [];
    const names = words.filter((word) => !/^(-U|--upgrade|--no-cache-dir|--system)$/.test(word));
    if (names.length > 0 && names.every((name) => PACKAGE.test(name))) packages.push(...names);
    else others.push(line.trim());
  }
  return { packages, others };
}

/** Every key that the field's tools know; each drives something, is refused, or is named in a note. */
const SETTINGS: Readonly<Record<string, Judge>> = {
  $schema: drives,
  graphs: drives,
  env: drives,
  node_version: (value) =>
    NODE_VERSIONS.includes(String(value)) ? undefined : { note: 'agents run on Node 24' },
  dependencies: judgeDependencies,
  auth: drives,
  priority: drives,
  http: judgeHttp,
  ui: (value) => refuseAll(parseUi(value).problems),
  ui_config: (value) => refuseAll(parseUiConfig(value).problems),
  store: (value, language) => {
    const refusal = storeRefusal(value, language);
    return refusal === undefined ? undefined : { refusal };
  },
  checkpointer: judgeCheckpointer,
  encryption: refuse(
    'states are stored as they are, and no code of an agent encrypts them; remove it, and encrypt the disk of the database',
  ),
  webhooks: (webhooks) => refuseAll(parseWebhookSettings({ webhooks }).problems),
  // they prepare a machine for what an agent may do: without them it fails there, by name
  dockerfile_lines: (value, language) => {
    const { packages, others } = parseDockerfileLines(value);
    const lines =
      language === 'python' ? others : [...others, ...packages.map((one) => `pip install ${one}`)];
    return lines.length === 0
      ? undefined
      : {
          note: `${BUILT_ELSEWHERE}; install here what these lines install: ${lines.join('; ').slice(0, 300)}`,
        };
  },
  node_loader: note('TypeScript is always loaded by esbuild'),
  api_version: note('there is one version of the agent server'),
  ...Object.fromEntries(
    ['base_image', 'image_distro', 'docker_compose_file', 'source', '_INTERNAL_docker_tag'].map((key) => [
      key,
      note(BUILT_ELSEWHERE),
    ]),
  ),
  ...Object.fromEntries(
    ['python_version', 'pip_config_file', 'pip_installer', 'keep_pkg_tools'].map((key) => [
      key,
      note(OF_PYTHON),
    ]),
  ),
};

/** Settings with an effect where the graphs are Python: packages are installed, and a Python is chosen. */
const DRIVES_PYTHON = new Set([
  'dependencies',
  'python_version',
  'pip_config_file',
  'pip_installer',
  'keep_pkg_tools',
]);

/** Judges every key of a `langgraph.json`; texts begin with the key. */
export function judgeSettings(
  settings: JsonObject,
  language: GraphLanguage = 'javascript',
): {
  readonly refusals: readonly string[];
  readonly notes: readonly string[];
} {
  const refusals: string[] = [];
  const notes: string[] = [];
  for (const [key, value] of Object.entries(settings)) {
    if (value === null || value === undefined) continue;
    if (language === 'python' && DRIVES_PYTHON.has(key)) continue;
    const judge = Object.hasOwn(SETTINGS, key) ? SETTINGS[key] : note('it is not a known setting');
    const judgement = judge?.(value, language);
    if (judgement && 'refusal' in judgement) refusals.push(`"${key}": ${judgement.refusal}`);
    else if (judgement) notes.push(`"${key}" of langgraph.json has no effect: ${judgement.note}`);
  }
  return { refusals, notes };
}
