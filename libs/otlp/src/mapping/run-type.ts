import type { TakenAttributes } from './taken-attributes.js';

const RUN_TYPES = new Set(['llm', 'chain', 'tool', 'retriever', 'embedding', 'prompt', 'parser']);

/** Names of the kinds of spans in each convention. */
const OPENINFERENCE: Readonly<Record<string, string>> = {
  llm: 'llm',
  tool: 'tool',
  retriever: 'retriever',
  reranker: 'retriever',
  embedding: 'embedding',
  prompt: 'prompt',
};
const GEN_AI: Readonly<Record<string, string>> = {
  chat: 'llm',
  completion: 'llm',
  text_completion: 'llm',
  generate_content: 'llm',
  embedding: 'embedding',
  embeddings: 'embedding',
  execute_tool: 'tool',
  retrieval: 'retriever',
  retrieve: 'retriever',
};
const AI_SDK: Readonly<Record<string, string>> = {
  'ai.generateText.doGenerate': 'llm',
  'ai.streamText.doStream': 'llm',
  'ai.generateObject.doGenerate': 'llm',
  'ai.streamObject.doStream': 'llm',
  'ai.embed.doEmbed': 'embedding',
  'ai.embedMany.doEmbed': 'embedding',
  'ai.toolCall': 'tool',
};

function lookUp(table: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** The type of a span's run: the span's own, else that of its convention, `chain` for everything else. */
export function runTypeOf(span: TakenAttributes): string {
  const own = span.takeText('langsmith.span.kind')?.toLowerCase();
  const openInference = span.takeText('openinference.span.kind')?.toLowerCase();
  const traceloop = span.takeText('traceloop.span.kind')?.toLowerCase();
  const request = span.takeText('traceloop.llm.request.type', 'llm.request.type')?.toLowerCase();
  // the name of the operation stays in the metadata, since it is more specific than the type
  const operation = span.look('gen_ai.operation.name');
  const aiSdk = span.look('ai.operationId');
  if (own !== undefined && RUN_TYPES.has(own)) return own;
  if (span.look('llm.prompt_template.variables') !== undefined && openInference !== 'llm') return 'prompt';
  if (openInference !== undefined) return lookUp(OPENINFERENCE, openInference) ?? 'chain';
  if (traceloop !== undefined) return traceloop === 'tool' ? 'tool' : 'chain';
  if (typeof operation === 'string') {
    const known = lookUp(GEN_AI, operation.toLowerCase());
    if (known !== undefined) return known;
    return 'chain';
  }
  if (request !== undefined) return request === 'embedding' ? 'embedding' : 'llm';
  if (typeof aiSdk === 'string') return lookUp(AI_SDK, aiSdk) ?? 'chain';
  if (span.look('gen_ai.tool.name') !== undefined) return 'tool';
  return span.look('gen_ai.request.model') !== undefined ? 'llm' : 'chain';
}
