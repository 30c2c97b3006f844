import { describe, expect, it } from '@jest/globals';
import { atOnce } from '#lib/json';
import { jsonSpans } from '../json/json-spans.js';
import { runOfSpan } from './run-of-span.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

type Attributes = Readonly<Record<string, unknown>>;

function value(of: unknown): object {
  if (typeof of === 'string') return { stringValue: of };
  if (typeof of === 'boolean') return { boolValue: of };
  if (typeof of === 'number') return Number.isInteger(of) ? { intValue: String(of) } : { doubleValue: of };
  return { arrayValue: { values: (of as readonly unknown[]).map(value) } };
}

const list = (attributes: Attributes): readonly object[] =>
  Object.entries(attributes).map(([key, one]) => ({ key, value: value(one) }));

interface Given {
  readonly span?: object;
  readonly resource?: Attributes;
  readonly events?: readonly (readonly [name: string, attributes: Attributes])[];
}

/** The run of a span with these attributes; payloads parsed. */
function runOf(attributes: Attributes, { span, resource = {}, events = [] }: Given = {}, project?: string) {
  const sent = {
    traceId: TRACE,
    spanId: SPAN,
    name: 'span',
    attributes: list(attributes),
    startTimeUnixNano: '1763640000123456789',
    endTimeUnixNano: '1763640001000000000',
    events: events.map(([name, of]) => ({ name, timeUnixNano: '1763640000500000000', attributes: list(of) })),
    ...span,
  };
  const resourceSpans = [{ resource: { attributes: list(resource) }, scopeSpans: [{ spans: [sent] }] }];
  const [received] = [...jsonSpans(Buffer.from(JSON.stringify({ resourceSpans })))];
  if (!received) throw new Error('no span was read');
  const run = atOnce(runOfSpan(received, project));
  if ('message' in run) throw new Error(run.message);
  const fields = Object.entries(run.fields).map(([name, json]) => [name, JSON.parse(json.toString())]);
  const read = { ...JSON.parse(run.run.toString()), ...Object.fromEntries(fields) };
  return { ...read, metadata: read.extra.metadata, parameters: read.extra.invocation_params };
}

const MESSAGES = [{ role: 'user', content: 'Hi' }];
const JSON_MESSAGES = JSON.stringify(MESSAGES);
const CONVERSATION = [
  { role: 'user', parts: [{ type: 'text', content: 'Hello' }] },
  { role: 'assistant', parts: [{ type: 'text', content: 'Hi' }] },
  { role: 'user', parts: [{ type: 'text', content: 'a "tool_call_response"?' }] },
  { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1' }] },
  { role: 'user', parts: [{ type: 'tool_call_response', id: 'c1' }] },
];

describe('the run of a span', () => {
  it('has ids, times and project of its span and request', () => {
    expect(runOf({}, { span: { parentSpanId: '00f067aa0ba902b7' } }, 'shop')).toMatchObject({
      id: '00000000-0000-0000-b7ad-6b7169203331',
      trace_id: '0af76519-16cd-43dd-8448-eb211c80319c',
      parent_run_id: '00000000-0000-0000-00f0-67aa0ba902b7',
      session_name: 'shop',
      name: 'span',
      run_type: 'chain',
      start_time: '2025-11-20T12:00:00.123456Z',
      end_time: '2025-11-20T12:00:01.000000Z',
    });
  });

  it.each<[string, object]>([
    ['without a parent', {}],
    ['below itself', { parentSpanId: SPAN }],
    ['below the span that the Python client never sends', { parentSpanId: TRACE.slice(0, 16) }],
    ['below a span of no valid id', { parentSpanId: '0000000000000000' }],
  ])('has no parent %s', (_, span) => {
    expect(runOf({}, { span })).not.toHaveProperty('parent_run_id');
  });

  it('takes what langsmith.* says over everything else', () => {
    const [id, other] = ['a27b8e3c-1111-4222-8333-944444444444', 'b27b8e3c-1111-4222-8333-944444444444'];
    const given = {
      'langsmith.span.id': id,
      'langsmith.trace.id': other,
      'langsmith.span.parent_id': other,
      'langsmith.span.dotted_order': `20251120T120000000000Z${other}.20251120T120000000000Z${id}`,
      'langsmith.trace.session_name': 'own',
      'langsmith.trace.name': 'named',
      'langsmith.span.kind': 'LLM',
      'langsmith.span.tags': 'one, two,',
      'langsmith.metadata.ls_provider': 'mine',
      'langsmith.metadata.nested': '{"a":1.0}',
      'langsmith.usage_metadata': '{"input_tokens":1,"output_tokens":2,"total_tokens":3}',
      'gen_ai.system': 'openai',
      'openinference.span.kind': 'TOOL',
      'traceloop.entity.name': 'other',
    };
    const run = runOf(given, {}, 'shop');
    expect(run).toMatchObject({
      id,
      trace_id: other,
      parent_run_id: other,
      session_name: 'own',
      name: 'named',
      run_type: 'llm',
      tags: ['one', 'two'],
      dotted_order: given['langsmith.span.dotted_order'],
    });
    expect(run.metadata).toEqual({
      ls_provider: 'mine',
      nested: { a: 1 },
      usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    });
  });

  it.each<[type: string, attributes: Attributes]>([
    ['llm', { 'gen_ai.operation.name': 'chat' }],
    ['llm', { 'gen_ai.operation.name': 'text_completion' }],
    ['embedding', { 'gen_ai.operation.name': 'embeddings' }],
    ['tool', { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 't' }],
    ['chain', { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.request.model': 'm' }],
    ['tool', { 'gen_ai.tool.name': 't' }],
    ['llm', { 'gen_ai.request.model': 'm' }],
    ['retriever', { 'openinference.span.kind': 'RETRIEVER' }],
    ['chain', { 'openinference.span.kind': 'AGENT' }],
    ['prompt', { 'openinference.span.kind': 'CHAIN', 'llm.prompt_template.variables': '{}' }],
    ['chain', { 'traceloop.span.kind': 'workflow' }],
    ['tool', { 'traceloop.span.kind': 'tool' }],
    ['llm', { 'llm.request.type': 'chat' }],
    ['embedding', { 'traceloop.llm.request.type': 'embedding' }],
    ['llm', { 'ai.operationId': 'ai.generateText.doGenerate' }],
    ['chain', { 'ai.operationId': 'ai.generateText' }],
    ['chain', { 'langsmith.span.kind': 'agent' }],
    ['chain', { 'gen_ai.operation.name': 'constructor' }],
  ])('has the type %s with %j', (type, attributes) => {
    expect(runOf(attributes).run_type).toBe(type);
  });

  it.each<[string, Attributes, inputs: unknown, outputs: unknown]>([
    [
      'whole payloads',
      { 'gen_ai.prompt': '{"q":1}', 'gen_ai.completion': 'done' },
      { q: 1 },
      { output: 'done' },
    ],
    [
      'messages of GenAI',
      {
        'gen_ai.input.messages': JSON_MESSAGES,
        'gen_ai.system_instructions': '[{"type":"text"}]',
        'gen_ai.output.messages': JSON_MESSAGES,
      },
      { messages: MESSAGES, system_instructions: [{ type: 'text' }] },
      { messages: MESSAGES },
    ],
    [
      'messages spread over attributes, in their order',
      {
        'gen_ai.prompt.10.role': 'user',
        'gen_ai.prompt.10.content': 'last',
        'gen_ai.prompt.2.message.role': 'user',
        'gen_ai.prompt.2.message.content': 'Hi',
        'gen_ai.completion.0.role': 'assistant',
        'gen_ai.completion.0.tool_calls.0.name': 'look',
        'gen_ai.completion.0.tool_calls.0.arguments': '{}',
      },
      {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'user', content: 'last' },
        ],
      },
      { messages: [{ role: 'assistant', tool_calls: [{ name: 'look', arguments: '{}' }] }] },
    ],
    [
      'messages of OpenInference, with the value',
      {
        'input.value': '{"messages":1}',
        'input.mime_type': 'application/json',
        'llm.input_messages.0.message.role': 'user',
        'llm.input_messages.0.message.contents.0.message_content.type': 'text',
        'llm.input_messages.0.message.contents.0.message_content.text': 'Hi',
        'output.value': 'plain',
        'output.mime_type': 'text/plain',
      },
      { messages: [{ role: 'user', contents: [{ type: 'text', text: 'Hi' }] }], value: { messages: 1 } },
      { output: 'plain' },
    ],
    [
      'documents',
      {
        'input.value': 'query',
        'retrieval.documents.0.document.content': 'text',
        'retrieval.documents.0.document.metadata': '{"page":3}',
        'retrieval.documents.0.document.score': 0.5,
      },
      { input: 'query' },
      { documents: [{ page_content: 'text', metadata: { page: 3 }, score: 0.5 }] },
    ],
    [
      'entities of Traceloop',
      { 'traceloop.entity.input': '{"inputs":{"a":1}}', 'traceloop.entity.output': '[1]' },
      { inputs: { a: 1 } },
      { output: [1] },
    ],
    [
      'entities of Traceloop that are single values',
      { 'traceloop.entity.input': '"a \\"text\\""', 'traceloop.entity.output': '1.0' },
      { input: 'a "text"' },
      { output: 1 },
    ],
    [
      'entities of Traceloop that are not JSON',
      { 'traceloop.entity.input': '"open', 'traceloop.entity.output': 'true story' },
      { input: '"open' },
      { output: 'true story' },
    ],
    [
      'calls of tools',
      { 'gen_ai.tool.call.arguments': '{"x":1}', 'gen_ai.tool.call.result': 'ok' },
      { x: 1 },
      { output: 'ok' },
    ],
    [
      'the AI SDK',
      { 'ai.prompt.messages': JSON_MESSAGES, 'ai.response.text': 'Hello', 'ai.response.toolCalls': '[]' },
      { messages: MESSAGES },
      { text: 'Hello', tool_calls: [] },
    ],
    [
      'Logfire',
      { prompt: 'p', request_data: '{"q":1}', response_data: '[1]' },
      { input: 'p' },
      { output: [1] },
    ],
    [
      'agents of Pydantic AI, first versions',
      { all_messages_events: JSON_MESSAGES },
      { messages: MESSAGES },
      { output: MESSAGES },
    ],
    [
      'agents of Pydantic AI',
      {
        'pydantic_ai.all_messages': JSON.stringify(CONVERSATION),
        'gen_ai.system_instructions': '[{"type":"text"}]',
        final_result: '{"c":22}',
      },
      { messages: [CONVERSATION[2]], system_instructions: [{ type: 'text' }] },
      { output: { c: 22 }, messages: CONVERSATION },
    ],
    [
      'tools of Pydantic AI',
      { 'gen_ai.tool.name': 'weather', tool_arguments: '{"city":"Paris"}', tool_response: '22 C' },
      { city: 'Paris' },
      { output: '22 C' },
    ],
    [
      'embeddings of the AI SDK',
      { 'ai.value': '"one"', 'ai.embedding': '[0.5,1]' },
      { input: 'one' },
      { embedding: [0.5, 1] },
    ],
    [
      'several embeddings of the AI SDK',
      { 'ai.values': ['"one"', 'no JSON'], 'ai.embeddings': ['[0.5]', '[1]'] },
      { input: ['one', 'no JSON'] },
      { embeddings: [[0.5], [1]] },
    ],
    [
      'retrievals of GenAI',
      { 'gen_ai.retrieval.query.text': 'x?', 'gen_ai.retrieval.documents': '[{"id":"d1","score":0.9}]' },
      { query: 'x?' },
      { documents: [{ id: 'd1', score: 0.9 }] },
    ],
    [
      'calls of models by the ADK of Google',
      { 'gcp.vertex.agent.llm_request': '{"contents":[]}', 'gcp.vertex.agent.llm_response': '{"content":1}' },
      { contents: [] },
      { content: 1 },
    ],
    [
      'tools of the ADK of Google',
      {
        'gcp.vertex.agent.llm_request': '{}',
        'gcp.vertex.agent.llm_response': '{}',
        'gcp.vertex.agent.tool_call_args': '{"a":1}',
        'gcp.vertex.agent.tool_response': '{"result":2}',
      },
      { a: 1 },
      { result: 2 },
    ],
    [
      'events of Logfire',
      {
        events:
          '[{"event.name":"gen_ai.user.message","content":"Hi"},{"event.name":"gen_ai.choice","index":0}]',
      },
      { messages: [{ 'event.name': 'gen_ai.user.message', content: 'Hi' }] },
      { choices: [{ 'event.name': 'gen_ai.choice', index: 0 }] },
    ],
    ['text that only begins like JSON', { 'input.value': '{not json' }, { input: '{not json' }, undefined],
  ])('has inputs and outputs of %s', (_, attributes, inputs, outputs) => {
    const run = runOf(attributes);
    expect(run.inputs).toEqual(inputs);
    expect(run.outputs).toEqual(outputs);
    expect(run.metadata).toEqual({});
  });

  it.each<[name: string, attributes: Attributes]>([
    ['ask', { 'ai.operationId': 'ai.generateText', 'ai.telemetry.functionId': 'ask' }],
    ['span', { 'ai.operationId': 'ai.generateText.doGenerate', 'ai.telemetry.functionId': 'ask' }],
    [
      'look',
      { 'ai.operationId': 'ai.toolCall', 'ai.telemetry.functionId': 'ask', 'ai.toolCall.name': 'look' },
    ],
    ['look', { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'look' }],
    ['look', { 'openinference.span.kind': 'TOOL', 'tool.name': 'look' }],
    ['helper', { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'helper' }],
    ['span', { 'gen_ai.operation.name': 'chat', 'gen_ai.agent.name': 'helper' }],
  ])('has the name %s with %j', (name, attributes) => {
    expect(runOf(attributes).name).toBe(name);
  });

  it.each(['gen_ai.tool.call.id', 'ai.toolCall.id', 'tool_call.id'])(
    'has the id of its call in %s',
    (name) => {
      expect(runOf({ [name]: 'c1' }).metadata).toEqual({ tool_call_id: 'c1' });
    },
  );

  it('has inputs and outputs of events', () => {
    const run = runOf(
      {},
      {
        events: [
          ['gen_ai.system.message', { 'gen_ai.system': 'openai', content: 'Be kind' }],
          ['gen_ai.user.message', { 'gen_ai.event.content': '{"role":"user","content":"Hi"}' }],
          ['gen_ai.choice', { index: 0, finish_reason: 'stop', 'message.content': 'Hello' }],
          ['other', { a: 1 }],
        ],
      },
    );
    expect(run.inputs).toEqual({
      messages: [
        { role: 'system', content: 'Be kind' },
        { role: 'user', content: 'Hi' },
      ],
    });
    expect(run.outputs).toEqual({
      choices: [{ index: 0, finish_reason: 'stop', message: { content: 'Hello' } }],
    });
    expect(run.events).toEqual([{ name: 'other', time: '2025-11-20T12:00:00.500000Z', kwargs: { a: 1 } }]);
  });

  it('keeps the beginning of the name of a scope, which every span of it repeats', () => {
    const spans = [{ traceId: TRACE, spanId: SPAN, name: 'span' }];
    const scope = { name: 'n'.repeat(1_000_000), version: `${'v'.repeat(199)}\u{1F600}` };
    const resourceSpans = [{ scopeSpans: [{ scope, spans }] }];
    const received = [...jsonSpans(Buffer.from(JSON.stringify({ resourceSpans })))].find(
      (one) => one !== undefined,
    );
    const run = received && atOnce(runOfSpan(received, undefined));
    if (!run || 'message' in run) throw new Error('no run was made');
    const extra = JSON.parse(String(run.fields.extra));
    expect(extra.otel.scope).toEqual({ name: 'n'.repeat(200), version: `${'v'.repeat(199)}\uFFFD` });
  });

  it('embeds JSON as the text that came', () => {
    const text = '{"b": 1.0, "a": 12345678901234567890, "b": 2}';
    const attributes = list({ 'gen_ai.prompt': text });
    const resourceSpans = [{ scopeSpans: [{ spans: [{ traceId: TRACE, spanId: SPAN, attributes }] }] }];
    const [received] = [...jsonSpans(Buffer.from(JSON.stringify({ resourceSpans })))];
    const run = received && atOnce(runOfSpan(received));
    expect(run && 'fields' in run && run.fields.inputs?.toString()).toBe(text);
  });

  it.each<[string, Attributes, object]>([
    ['GenAI', { 'gen_ai.usage.input_tokens': 3, 'gen_ai.usage.output_tokens': 4 }, { total_tokens: 7 }],
    [
      'former GenAI',
      { 'gen_ai.usage.prompt_tokens': 3, 'gen_ai.usage.completion_tokens': 4 },
      { total_tokens: 7 },
    ],
    [
      'OpenInference',
      { 'llm.token_count.prompt': 3, 'llm.token_count.completion': 4, 'llm.token_count.total': 9 },
      { total_tokens: 9 },
    ],
    [
      'details',
      {
        'gen_ai.usage.input_tokens': 3,
        'gen_ai.usage.output_tokens': 4,
        'gen_ai.usage.details.reasoning_tokens': 2,
        'llm.token_count.prompt_details.cache_read': 1,
        'llm.cost.total': 0.25,
      },
      {
        total_tokens: 7,
        input_token_details: { cache_read: 1 },
        output_token_details: { reasoning: 2 },
        total_cost: 0.25,
      },
    ],
  ])('has the usage of %s', (_, attributes, usage) => {
    expect(runOf(attributes).metadata).toEqual({
      usage_metadata: { input_tokens: 3, output_tokens: 4, ...usage },
    });
  });

  it.each<[string, Attributes, usage: object]>([
    ['tokens of embeddings', { 'ai.usage.tokens': 5 }, { input_tokens: 5, total_tokens: 5 }],
    ['a cost with an exponent', { 'operation.cost': '1.5e-06' }, { total_cost: 0.000_001_5 }],
    [
      'figures that are none, for the store to name',
      { 'gen_ai.usage.input_tokens': 'many', 'gen_ai.usage.output_tokens': -4, 'llm.cost.total': '$1' },
      { input_tokens: 'many', output_tokens: -4, total_tokens: -4, total_cost: '$1' },
    ],
  ])('has %s in its usage', (_, attributes, usage) => {
    expect(runOf(attributes).metadata).toEqual({ usage_metadata: usage });
  });

  it.each(['embedding.model_name', 'ai.model.id'])('has its model of %s', (name) => {
    expect(runOf({ [name]: 'small' }).metadata).toMatchObject({ ls_model_name: 'small' });
  });

  it('has model, provider and parameters of the call', () => {
    const run = runOf({
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt',
      'gen_ai.response.model': 'gpt-1',
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.stop_sequences': ['a'],
      'gen_ai.request.constructor': 'c',
      'gen_ai.tool.definitions': '[{"name":"t"}]',
      'llm.invocation_parameters': '{"top_k":3}',
    });
    expect(run.parameters).toEqual({
      model: 'gpt',
      temperature: 0.5,
      stop: ['a'],
      tools: [{ name: 't' }],
      top_k: 3,
      constructor: 'c',
    });
    expect(run.metadata).toEqual({
      ls_provider: 'openai',
      ls_model_name: 'gpt',
      'gen_ai.response.model': 'gpt-1',
    });
  });

  it('has the tools that OpenInference offers as their schemas', () => {
    const run = runOf({
      'llm.tools.0.tool.json_schema': '{"name":"look"}',
      'llm.tools.1.tool.json_schema': 'no JSON',
      'llm.tools.2.name': 'plain',
    });
    expect(run.parameters).toEqual({ tools: [{ name: 'look' }, 'no JSON', { name: 'plain' }] });
  });

  it('keeps everything else as metadata, what the span says over what its resource says', () => {
    const run = runOf(
      {
        'http.method': 'GET',
        'session.id': 's1',
        'user.id': 'u1',
        metadata: '{"team":"a"}',
        'traceloop.association.properties.chat': 'c',
        'ai.settings.context.thread_id': 't1',
        'deployment.environment': 'test',
      },
      { resource: { 'service.name': 'shop', 'deployment.environment': 'prod' } },
    );
    expect(run.metadata).toEqual({
      'http.method': 'GET',
      session_id: 's1',
      user_id: 'u1',
      team: 'a',
      chat: 'c',
      thread_id: 't1',
      'service.name': 'shop',
      'deployment.environment': 'test',
    });
  });

  it('counts what a resource adds to a span as JSON has it', () => {
    const name = '\u0001'.repeat(1_500);
    const run = runOf(
      {},
      { resource: { [name]: 'x', value: '\u0001'.repeat(1_500), wide: '€'.repeat(3_000) } },
    );
    expect(run.metadata).toEqual({});
    expect(run.extra.otel).toEqual({ resource_attributes_left_out: 3 });
  });

  it('bounds what a resource adds to each of its spans, and says so', () => {
    const run = runOf({}, { resource: { small: 'a', large: 'x'.repeat(9_000) } });
    expect(run.metadata).toEqual({ small: 'a' });
    expect(run.extra.otel).toEqual({ resource_attributes_left_out: 1 });
  });

  it.each<[string, Given, string | undefined]>([
    ['the status', { span: { status: { code: 2, message: 'wrong' } } }, 'wrong'],
    ['no more than that', { span: { status: { code: 2 } } }, 'error'],
    [
      'an exception',
      {
        events: [
          ['exception', { 'exception.type': 'E', 'exception.message': 'm', 'exception.stacktrace': 's' }],
        ],
      },
      'm\n\ns',
    ],
    [
      'an exception that was handled',
      { span: { status: { code: 1 } }, events: [['exception', {}]] },
      undefined,
    ],
  ])('has the error of %s', (_, given, error) => {
    const run = runOf({}, given);
    expect(run.error).toBe(error);
    expect(run.status).toBe(error === undefined ? undefined : 'error');
  });

  it('marks the first piece of an answer', () => {
    const run = runOf({}, { events: [['gen_ai.content.completion.chunk', {}]] });
    expect(run.events).toEqual([{ name: 'new_token', time: '2025-11-20T12:00:00.500000Z' }]);
  });

  it.each([
    ['gen_ai.response.time_to_first_chunk', 0.25],
    ['gen_ai.client.operation.time_to_first_chunk', '0.25'],
    ['ai.response.msToFirstChunk', 250],
  ])('marks it by the time until then in %s', (name, time) => {
    const first = { name: 'new_token', time: '2025-11-20T12:00:00.373456Z' };
    expect(runOf({ [name]: time }).events).toEqual([first]);
    const told = runOf({ [name]: time }, { events: [['ai.stream.firstChunk', {}]] });
    expect(told.events).toHaveLength(1);
  });

  it.each([-1, 'soon', 1e12])('does not take %j for the time until then', (time) => {
    expect(runOf({ 'gen_ai.response.time_to_first_chunk': time })).not.toHaveProperty('events');
  });

  it('takes names that objects have for what they are', () => {
    const run = runOf({
      'gen_ai.prompt.0.__proto__.x': '1',
      'gen_ai.prompt.0.role': 'user',
      __proto__x: 'y',
    });
    expect(JSON.stringify(run.inputs)).toBe('{"messages":[{"__proto__":{"x":"1"},"role":"user"}]}');
  });

  it.each([{ traceId: '0'.repeat(32) }, { traceId: 'ab' }, { spanId: '0'.repeat(16) }, { spanId: '' }])(
    'does not exist with %j',
    (span) => {
      expect(() => runOf({}, { span })).toThrow(/should be/);
    },
  );
});
