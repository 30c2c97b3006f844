import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder, waitFor } from '#lib/testing';
import { testApi } from '../../apps/api/src/testdata/test-api.js';

/** Installed at each run without versions: the newest of the day are tried. */
const PACKAGES = [
  'openai',
  'anthropic',
  'langsmith',
  'langchain',
  'langchain-openai',
  'langchain-anthropic',
  'litellm',
  'pydantic-ai-slim[openai]',
  'logfire',
  'openinference-instrumentation-openai',
  'openinference-instrumentation-langchain',
  'opentelemetry-instrumentation-openai',
  'openai-agents',
  'opentelemetry-sdk',
  'opentelemetry-exporter-otlp-proto-http',
];
const PACKAGES_OF_NODE = [
  'ai',
  '@ai-sdk/openai',
  '@ai-sdk/otel',
  '@opentelemetry/api',
  '@opentelemetry/sdk-trace',
  '@opentelemetry/exporter-trace-otlp-proto',
  'langsmith',
  'openai',
  'langchain',
  '@langchain/core',
  '@langchain/langgraph',
  '@langchain/openai',
];

/** Its callback sends no thread in a place where a run has one. */
const WITHOUT_THREAD = 'LiteLLM, callback';

/** Expected root of each trace: its name, and its cost in dollars by the prices of gpt-4o and claude-sonnet-4-5. */
const SENDERS = [
  ['wrap_openai', 'ChatOpenAI', '0.0003250000'],
  ['wrap_openai, responses', 'ChatOpenAI', '0.0003250000'],
  ['wrap_anthropic', 'ChatAnthropic', '0.0003150000'],
  ['traceable that returns the answer', 'agent', '0.0003250000'],
  ['LangChain', 'ChatOpenAI', '0.0003250000'],
  ['LangChain, Anthropic', 'ChatAnthropic', '0.0003150000'],
  ['LangChain, agent', 'LangGraph', '0.0003250000'],
  ['LangChain by spans', 'ChatOpenAI', '0.0003250000'],
  ['LiteLLM under traceable', 'call', '0.0003250000'],
  ['LiteLLM, callback', 'LLMRun', '0.0003250000'],
  ['Pydantic AI', 'helper', '0.0003250000'],
  ['logfire', 'helper', '0.0003250000'],
  ['OpenInference', 'ChatCompletion', '0.0003250000'],
  ['OpenInference, LangChain', 'ChatOpenAI', '0.0003250000'],
  ['OpenLLMetry', 'openai.chat', '0.0003250000'],
  ['OpenAI Agents', 'Agent workflow', '0.0003250000'],
] as const;
const SENDERS_OF_NODE = [
  ['AI SDK', 'helper', '0.0003250000'],
  ['AI SDK, its former spans', 'helper', '0.0003250000'],
  ['wrapAISDK', 'openai.chat', '0.0003250000'],
  ['wrapOpenAI', 'ChatOpenAI', '0.0003250000'],
  ['LangChain.js', 'ChatOpenAI', '0.0003250000'],
  ['LangGraph.js', 'LangGraph', '0.0003250000'],
] as const;

const THREAD = 'thread 1';

const ANSWER = 'It is sunny.';
const COMPLETION = {
  id: 'c1',
  object: 'chat.completion',
  created: 1_780_000_000,
  model: 'gpt-4o-2024-08-06',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: ANSWER, refusal: null },
      finish_reason: 'stop',
      logprobs: null,
    },
  ],
  usage: {
    prompt_tokens: 120,
    completion_tokens: 15,
    total_tokens: 135,
    prompt_tokens_details: { cached_tokens: 100, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 4, audio_tokens: 0 },
  },
};
const RESPONSE = {
  id: 'r1',
  object: 'response',
  created_at: 1_780_000_000,
  status: 'completed',
  model: 'gpt-4o-2024-08-06',
  output: [
    {
      type: 'message',
      id: 'm1',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: ANSWER, annotations: [] }],
    },
  ],
  usage: {
    input_tokens: 120,
    input_tokens_details: { cached_tokens: 100 },
    output_tokens: 15,
    output_tokens_details: { reasoning_tokens: 4 },
    total_tokens: 135,
  },
  parallel_tool_calls: true,
  tool_choice: 'auto',
  tools: [],
};
const MESSAGE = {
  id: 'm1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  content: [{ type: 'text', text: ANSWER }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: {
    input_tokens: 20,
    cache_read_input_tokens: 100,
    cache_creation_input_tokens: 0,
    output_tokens: 15,
  },
};

/** A provider of models that answers every question alike. */
function provider(): Server {
  const answers = { completions: COMPLETION, responses: RESPONSE, messages: MESSAGE };
  return createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const last = (request.url ?? '').split('?')[0]?.split('/').at(-1) ?? '';
      const answer = Object.entries(answers).find(([name]) => name === last)?.[1];
      response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer ?? {}));
    });
  });
}

interface ReadRun {
  readonly name: string;
  readonly inputs: unknown;
  readonly outputs: unknown;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly total_cost: string | null;
  readonly end_time: string | null;
  readonly thread_id: string | null;
}

const python = process.env['AGENTPLANE_TEST_PYTHON'] ?? '';
const uv = join(dirname(python), 'uv');
const inPython = existsSync(uv) ? describe : describe.skip;

describe('a sender of traces of today', () => {
  const { api } = testApi();
  const folder = temporaryFolder();
  const models = provider();
  const versions: string[] = [];
  const run = (command: string, ...words: readonly string[]): void => {
    const { status, stderr } = spawnSync(command, words, { cwd: folder, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${command} ${words.join(' ')}: ${stderr}`);
  };

  beforeAll(() => once(models.listen(0, '127.0.0.1'), 'listening'));
  afterAll(() => {
    models.close();
    process.stdout.write(`${[...new Set(versions)].sort().join(', ')}\n`);
  });

  /** Sends by a program, and compares the root that is read with that of the table. */
  async function check(
    [command, script]: readonly [string, string],
    [sender, name, cost]: readonly [string, string, string],
  ): Promise<void> {
    const tenant = await api.workspace();
    const { port } = models.address() as AddressInfo;
    const { stdout } = await promisify(execFile)(command, [script, sender], {
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        API_URL: api.url,
        API_KEY: tenant.key,
        PROJECT: 'sent',
        PROVIDER: `http://127.0.0.1:${port}`,
        THREAD,
      },
    });
    versions.push(...stdout.trim().split('\n').slice(-1).join('').split(', '));
    const roots = await waitFor(async () => {
      const found = (await tenant.call('POST', '/runs/query', { is_root: true, limit: 10 })).json as {
        readonly runs?: readonly ReadRun[];
      };
      return found.runs?.[0]?.end_time ? found.runs : undefined;
    });
    const [root] = roots;
    expect({
      roots: roots.length,
      name: root?.name,
      tokens: [root?.prompt_tokens, root?.completion_tokens, root?.total_tokens],
      cost: root?.total_cost,
      question: JSON.stringify(root?.inputs).includes('Paris?'),
      answer: JSON.stringify(root?.outputs).includes(ANSWER),
      thread: root?.thread_id,
    }).toEqual({
      ...{ roots: 1, name, tokens: [120, 15, 135], cost },
      ...{ question: true, answer: true, thread: sender === WITHOUT_THREAD ? null : THREAD },
    });
    expect((await tenant.call('GET', '/ingest-problems')).json).toEqual({ counts: [], recent: [] });
  }

  describe('in JavaScript', () => {
    const script = join(folder, 'senders.mjs');

    beforeAll(() => {
      writeFileSync(join(folder, 'package.json'), '{"private": true}');
      copyFileSync(join(import.meta.dirname, 'senders.mjs'), script);
      run('npm', 'install', '--no-audit', '--no-fund', ...PACKAGES_OF_NODE);
    });

    it.each(SENDERS_OF_NODE)('%s has one root with the tokens, cost and thread of its call', (...row) =>
      check([process.execPath, script], row),
    );
  });

  inPython('in Python', () => {
    beforeAll(() => {
      run(uv, 'venv', '--quiet', '--python', python, '.venv');
      run(
        uv,
        ...['pip', 'install', '--quiet', '--only-binary', ':all:', '--python', '.venv/bin/python'],
        ...PACKAGES,
      );
    });

    it.each(SENDERS)('%s has one root with the tokens, cost and thread of its call', (...row) =>
      check([join(folder, '.venv/bin/python'), join(import.meta.dirname, 'senders.py')], row),
    );
  });
});
