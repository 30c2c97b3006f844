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

/** Every key that the field's tools know; each drives something, is refused, or is named in a note. */
const SETTINGS: Readonly<Record<string, Judge>> = {
  $schema: drives,
  graphs: drives,
  env: drives,
  node_version: (value) =>
    NODE_VERSIONS.includes(String(value))
      ? undefined
      : {
          refusal: `${JSON.stringify(value)} is not one of ${NODE_VERSIONS.join(', ')}; agents run on Node 24`,
        },
  dependencies: judgeDependencies,
  auth: drives,
  http: judgeHttp,
  ui: (value) => refuseAll(parseUi(value).problems),
  ui_config: (value) => refuseAll(parseUiConfig(value).problems),
  store: (value, language) => {
    const refusal = storeRefusal(value, language);
    return refusal === undefined ? undefined : { refusal };
  },
  checkpointer: judgeCheckpointer,
  encryption: refuse('custom encryption cannot be run yet; remove it'),
  webhooks: (webhooks) => refuseAll(parseWebhookSettings({ webhooks }).problems),
  dockerfile_lines: (value) =>
    Array.isArray(value) && value.length === 0 ? undefined : { refusal: `${BUILT_ELSEWHERE}; remove it` },
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
    else if (judgement) notes.push(`"${key}" of langgraph.json drives nothing: ${judgement.note}`);
  }
  return { refusals, notes };
}
