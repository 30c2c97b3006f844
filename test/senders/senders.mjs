// One question to a model through a library that reports it: senders.mjs NAME, in a folder with the packages. Prints the
// versions of the packages used.
import { readFileSync } from 'node:fs';

const { API_URL, API_KEY, PROJECT, PROVIDER, THREAD } = process.env;
const BASE = `${PROVIDER}/v1`;
const MODEL = 'gpt-4o';
const QUESTION = [{ role: 'user', content: 'Paris?' }];
const metadata = { thread_id: THREAD };

Object.assign(process.env, {
  LANGSMITH_ENDPOINT: API_URL,
  LANGSMITH_API_KEY: API_KEY,
  LANGSMITH_PROJECT: PROJECT,
  LANGSMITH_TRACING: 'true',
  OPENAI_API_KEY: 'none',
  OPENAI_BASE_URL: BASE,
});

async function flushLangSmith() {
  const { RunTree } = await import('langsmith');
  await RunTree.getSharedClient().awaitPendingTraceBatches();
}

/** Asks by the AI SDK, whose integration makes the spans. */
async function askBySpans(integrationOf, options) {
  const { trace } = await import('@opentelemetry/api');
  const { SimpleSpanProcessor, TracerProvider } = await import('@opentelemetry/sdk-trace');
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  const { generateText, registerTelemetry } = await import('ai');
  const { createOpenAI } = await import('@ai-sdk/openai');
  const exporter = new OTLPTraceExporter({
    url: `${API_URL}/otel/v1/traces`,
    headers: { 'x-api-key': API_KEY, 'Langsmith-Project': PROJECT },
  });
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  trace.setGlobalTracerProvider(provider);
  registerTelemetry(integrationOf(await import('@ai-sdk/otel')));
  const model = createOpenAI({ baseURL: BASE, apiKey: 'none' }).chat(MODEL);
  await generateText({ model, prompt: 'Paris?', ...options });
  await provider.forceFlush();
}

async function wrappedAiSdk() {
  const { wrapAISDK } = await import('langsmith/experimental/vercel');
  const { createOpenAI } = await import('@ai-sdk/openai');
  const { generateText } = wrapAISDK(await import('ai'), { metadata });
  await generateText({
    model: createOpenAI({ baseURL: BASE, apiKey: 'none' }).chat(MODEL),
    prompt: 'Paris?',
  });
  await flushLangSmith();
}

async function wrappedOpenAi() {
  const { wrapOpenAI } = await import('langsmith/wrappers');
  const { default: OpenAI } = await import('openai');
  await wrapOpenAI(new OpenAI()).chat.completions.create(
    { model: MODEL, messages: QUESTION },
    { langsmithExtra: { metadata } },
  );
  await flushLangSmith();
}

async function langChain() {
  const { ChatOpenAI } = await import('@langchain/openai');
  const { awaitAllCallbacks } = await import('@langchain/core/callbacks/promises');
  await new ChatOpenAI({ model: MODEL }).invoke('Paris?', { metadata });
  await awaitAllCallbacks();
  await flushLangSmith();
}

async function langGraph() {
  const { ChatOpenAI } = await import('@langchain/openai');
  const { createAgent } = await import('langchain');
  const { awaitAllCallbacks } = await import('@langchain/core/callbacks/promises');
  const agent = createAgent({ model: new ChatOpenAI({ model: MODEL }), tools: [] });
  await agent.invoke({ messages: QUESTION }, { metadata });
  await awaitAllCallbacks();
  await flushLangSmith();
}

const SENDERS = {
  'AI SDK': [
    () =>
      askBySpans(({ OpenTelemetry }) => new OpenTelemetry({ runtimeContext: true }), {
        runtimeContext: metadata,
        telemetry: { functionId: 'helper', includeRuntimeContext: { thread_id: true } },
      }),
    'ai @ai-sdk/otel',
  ],
  'AI SDK, its former spans': [
    () =>
      askBySpans(({ LegacyOpenTelemetry }) => new LegacyOpenTelemetry(), {
        runtimeContext: metadata,
        telemetry: { functionId: 'helper', includeRuntimeContext: { thread_id: true } },
      }),
    'ai @ai-sdk/otel',
  ],
  wrapAISDK: [wrappedAiSdk, 'langsmith ai'],
  wrapOpenAI: [wrappedOpenAi, 'langsmith openai'],
  'LangChain.js': [langChain, '@langchain/core @langchain/openai'],
  'LangGraph.js': [langGraph, 'langchain @langchain/langgraph'],
};

const versionOf = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), 'utf8')).version;
const [send, packages] = SENDERS[process.argv[2]];
await send();
console.log(
  packages
    .split(' ')
    .map((name) => `${name} ${versionOf(name)}`)
    .join(', '),
);
