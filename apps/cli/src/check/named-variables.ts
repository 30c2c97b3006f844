import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** A variable that the sources of an agent name. */
export interface NamedVariable {
  readonly name: string;
  /** The first file that names it. */
  readonly place: string;
}

const SOURCE = /\.(py|[cm]?[jt]s|tsx)$/;
const LEFT_OUT = new Set([
  'node_modules',
  'dist',
  'build',
  'tests',
  '__tests__',
  '__pycache__',
  'site-packages',
]);
const MAX_FILES = 2_000;
/** Ways in which Python and JavaScript read a variable. */
const READS = [
  /\bos\.(?:environ(?:\.get)?|getenv)\s*[[(]\s*["']([A-Z][A-Z0-9_]+)["']/g,
  /\bgetenv\(\s*["']([A-Z][A-Z0-9_]+)["']/g,
  /\bprocess\.env(?:\.|\[["'])([A-Z][A-Z0-9_]+)/g,
  /\b(?:getEnvironmentVariable|SecretStr\.from_env|from_env)\(\s*["']([A-Z][A-Z0-9_]+)["']/g,
];
/** Keys that libraries read, by the words that name the library in a source. */
const OF_LIBRARIES: readonly (readonly [RegExp, string])[] = [
  [/langchain_openai|@langchain\/openai|["']openai[:/]/, 'OPENAI_API_KEY'],
  [/langchain_anthropic|@langchain\/anthropic|["']anthropic[:/]/, 'ANTHROPIC_API_KEY'],
  [/langchain_google_genai|@langchain\/google-genai|["']google_genai[:/]/, 'GOOGLE_API_KEY'],
  [/langchain_groq|@langchain\/groq|["']groq[:/]/, 'GROQ_API_KEY'],
  [/langchain_mistralai|@langchain\/mistralai/, 'MISTRAL_API_KEY'],
  [/langchain_fireworks|["']fireworks[:/]/, 'FIREWORKS_API_KEY'],
  [/langchain_cohere|@langchain\/cohere/, 'COHERE_API_KEY'],
  [/langchain_deepseek/, 'DEEPSEEK_API_KEY'],
  [/\bTavily|tavily/, 'TAVILY_API_KEY'],
];
/** Names of secrets, as opposed to settings. */
const SECRET = /_(KEY|TOKEN|SECRET|PASSWORD)$|^(KEY|TOKEN)$/;

function* sources(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name.startsWith('.') || LEFT_OUT.has(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (entry.isFile() && SOURCE.test(entry.name)) yield path;
  }
}

/** Variables that the sources of an agent read, themselves or through libraries of models. Nothing is run. */
function namedVariables(folder: string): readonly NamedVariable[] {
  const found = new Map<string, string>();
  let files = 0;
  for (const path of sources(folder)) {
    if (++files > MAX_FILES) break;
    const text = readFileSync(path, 'utf8');
    const names = [
      ...READS.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name = '']) => name)),
      ...OF_LIBRARIES.filter(([pattern]) => pattern.test(text)).map(([, name]) => name),
    ];
    for (const name of names) if (!found.has(name)) found.set(name, relative(folder, path));
  }
  const example = join(folder, '.env.example');
  if (existsSync(example))
    for (const [, name = ''] of readFileSync(example, 'utf8').matchAll(/^(?:export )?([A-Z][A-Z0-9_]+)=/gm))
      if (!found.has(name)) found.set(name, '.env.example');
  return [...found].map(([name, place]) => ({ name, place })).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Variables among them that hold secrets of services. Tracing has keys of the platform. */
export function namedKeys(folder: string): readonly NamedVariable[] {
  return namedVariables(folder).filter(({ name }) => SECRET.test(name) && !/^LANG(CHAIN|SMITH)_/.test(name));
}

/** Names of variables in the text of an error. */
export function missingIn(message: string): readonly string[] {
  const names = message.match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g) ?? [];
  return [...new Set(names)].filter((name) =>
    /_(KEY|TOKEN|SECRET|PASSWORD|URL|URI|HOST|ENDPOINT|ID|NAME|USER|INDEX|REGION|BASE|PATH|PORT|EMAIL)$/.test(
      name,
    ),
  );
}
