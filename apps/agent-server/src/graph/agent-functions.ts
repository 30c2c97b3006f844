import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errorText, TerminalError } from '#lib/errors';
import type { ModuleExport, StoreIndex } from '#lib/graph-configuration';
import { isJsonObject, type JsonObject } from '#lib/json';
import { REASON } from '#lib/resources';
import { importOfAgent } from './library-copies.js';

/** A model that makes vectors of texts, as LangChain's `Embeddings` are. */
export interface LoadedEmbedder {
  embedDocuments(texts: readonly string[]): Promise<unknown>;
  embedQuery(text: string): Promise<unknown>;
}

/** Providers of LangChain, by the names that `init_embeddings` gives them: package and class. */
const PROVIDERS: Readonly<Record<string, readonly [string, string]>> = {
  openai: ['@langchain/openai', 'OpenAIEmbeddings'],
  azure_openai: ['@langchain/openai', 'AzureOpenAIEmbeddings'],
  bedrock: ['@langchain/aws', 'BedrockEmbeddings'],
  cohere: ['@langchain/cohere', 'CohereEmbeddings'],
  google_genai: ['@langchain/google-genai', 'GoogleGenerativeAIEmbeddings'],
  google_vertexai: ['@langchain/google-vertexai', 'VertexAIEmbeddings'],
  mistralai: ['@langchain/mistralai', 'MistralAIEmbeddings'],
  ollama: ['@langchain/ollama', 'OllamaEmbeddings'],
};

function failedBy(setting: string) {
  return (what: string, cause?: unknown): TerminalError =>
    new TerminalError(REASON.graphLoadFailed, `langgraph.json: ${setting} ${what}`, { cause });
}

const failed = (embed: string, what: string, cause?: unknown): TerminalError =>
  failedBy(`"store": index.embed "${embed}"`)(what, cause);

function isEmbeddings(value: unknown): value is LoadedEmbedder {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof Reflect.get(value, 'embedDocuments') === 'function' &&
    typeof Reflect.get(value, 'embedQuery') === 'function'
  );
}

type EmbeddingFunction = (texts: readonly string[]) => unknown;

function isFunction(value: unknown): value is EmbeddingFunction {
  return typeof value === 'function';
}

/** A function takes texts and answers their vectors. */
function ofFunction(embed: EmbeddingFunction): LoadedEmbedder {
  return {
    embedDocuments: async (texts) => embed(texts),
    async embedQuery(text) {
      const vectors: unknown = await embed([text]);
      return Array.isArray(vectors) ? vectors[0] : vectors;
    },
  };
}

/** An export of a file of the agent, whose sources are compiled. @throws TerminalError (`GraphLoadFailed`) */
async function exportOf(
  folder: string,
  { file, exportName }: ModuleExport,
  refusal: ReturnType<typeof failedBy>,
): Promise<unknown> {
  const path = resolve(folder, file);
  if (!existsSync(path)) throw refusal('names a file that does not exist');
  try {
    const module: unknown = await import(pathToFileURL(path).href);
    return isJsonObject(module) ? await module[exportName] : undefined;
  } catch (error) {
    throw refusal(`failed to load: ${errorText(error).replaceAll(`${folder}/`, '')}`, error);
  }
}

/** The function of the agent that assigns priorities to runs, itself or as `assign` of an object. */
export type AssignPriority = (context: JsonObject) => unknown;

function isAssign(value: unknown): value is AssignPriority {
  return typeof value === 'function';
}

/** @throws TerminalError (`GraphLoadFailed`) */
export async function loadPriority(folder: string, source: ModuleExport): Promise<AssignPriority> {
  const shown = source.file.replace(`${folder}/`, '');
  const refusal = failedBy(`"priority.path" "${shown}:${source.exportName}"`);
  const exported = await exportOf(folder, source, refusal);
  if (isAssign(exported)) return exported;
  throw refusal('is not a function; export one that takes a context and returns {priority, fairness_group}');
}

async function fromFile(
  folder: string,
  source: NonNullable<StoreIndex['source']>,
  embed: string,
): Promise<LoadedEmbedder> {
  const exported = await exportOf(folder, source, (what, cause) => failed(embed, what, cause));
  if (isEmbeddings(exported)) return exported;
  if (isFunction(exported)) return ofFunction(exported);
  throw failed(embed, 'is neither a function of texts nor an Embeddings object');
}

async function fromProvider(folder: string, embed: string): Promise<LoadedEmbedder> {
  const colon = embed.indexOf(':');
  const [name, model] = [embed.slice(0, colon), embed.slice(colon + 1)];
  const provider = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined;
  if (provider === undefined)
    throw failed(
      embed,
      `names no provider that is known (${Object.keys(PROVIDERS).join(', ')}); name a function of the agent as "FILE:EXPORT"`,
    );
  const [packageName, className] = provider;
  const Embeddings = (await importOfAgent(join(folder, 'package.json'), packageName))?.[className];
  if (typeof Embeddings !== 'function')
    throw failed(embed, `needs ${className} of ${packageName}; add the package to the agent`);
  try {
    const made: unknown = Reflect.construct(Embeddings, [{ model }]);
    if (isEmbeddings(made)) return made;
  } catch (error) {
    throw failed(embed, `cannot be made: ${errorText(error)}`, error);
  }
  throw failed(embed, `is no Embeddings object; ${packageName} may be too old`);
}

/**
 * The model of `store.index.embed`: a function or an `Embeddings` object of the agent (`FILE:EXPORT`), or one of a
 * package that the agent has installed (`PROVIDER:MODEL`). The agent's sources are compiled by then.
 * @throws TerminalError (`GraphLoadFailed`) saying what is missing
 */
export function loadEmbedder(
  folder: string,
  { embed, source }: Pick<StoreIndex, 'embed' | 'source'>,
): Promise<LoadedEmbedder> {
  return source ? fromFile(folder, source, embed) : fromProvider(folder, embed);
}
