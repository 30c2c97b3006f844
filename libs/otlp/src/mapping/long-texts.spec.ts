import { describe, expect, it, jest } from '@jest/globals';
import type { JsonWalk } from '#lib/json';
import type { AttributeValue, ReceivedSpan, SpanEvent } from '../span.js';
import { runOfSpan } from './run-of-span.js';

function spanWith(
  attributes: Readonly<Record<string, AttributeValue>>,
  events: readonly SpanEvent[] = [],
): ReceivedSpan {
  return {
    resource: new Map(),
    scope: { name: '', version: '' },
    place: [],
    span: {
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      parentSpanId: '',
      traceState: '',
      name: 'n',
      kind: 1,
      startTimeUnixNano: 1n,
      endTimeUnixNano: 2n,
      leftOut: 0,
      statusCode: 0,
      statusMessage: '',
      links: [],
      events,
      attributes: new Map(Object.entries(attributes)),
    },
  };
}

/** Result of a walk, the number of its steps, and the longest text that was parsed at once meanwhile. */
function walked<T>(walk: JsonWalk<T>): { answer: T; steps: number; longest: number } {
  const parse = jest.spyOn(JSON, 'parse');
  const print = jest.spyOn(JSON, 'stringify');
  try {
    for (let steps = 1; ; steps++) {
      const step = walk.next();
      if (!step.done) continue;
      const lengths = parse.mock.calls.map(([text]) => text.length);
      expect(print.mock.calls.length).toBeLessThan(20_000);
      return { answer: step.value, steps, longest: Math.max(0, ...lengths) };
    }
  } finally {
    parse.mockRestore();
    print.mockRestore();
  }
}

function runOf(span: ReceivedSpan) {
  const { answer, steps, longest } = walked(runOfSpan(span));
  if ('message' in answer) throw new Error(answer.message);
  const { fields } = answer;
  const read = (name: 'inputs' | 'outputs' | 'extra') => JSON.parse(String(fields[name] ?? 'null'));
  return { steps, longest, inputs: read('inputs'), outputs: read('outputs'), extra: read('extra') };
}

const KiB = 1024;
const members = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_one, n) => [`k${n}`, n]));
const LONG_OBJECT = JSON.stringify(members(20_000));
const LONG_LIST = `[${'1,'.repeat(1 << 17)}1]`;

describe('a span with long texts', () => {
  it.each(['metadata', 'llm.invocation_parameters'])(
    'keeps the text of more than 5,000 members in one piece in %s',
    (name) => {
      const of = (text: string) => {
        const { extra, ...rest } = runOf(spanWith({ [name]: text }));
        return { ...rest, found: name === 'metadata' ? extra.metadata : extra.invocation_params };
      };
      expect(of(JSON.stringify(members(5_000))).found).toEqual(members(5_000));
      const { found, steps, longest } = of(LONG_OBJECT);
      expect(found).toEqual({
        [name === 'metadata' ? 'metadata' : 'invocation_parameters']: members(20_000),
      });
      expect(steps).toBeGreaterThan(LONG_OBJECT.length / (128 * KiB));
      expect(longest).toBeLessThan(17 * KiB);
    },
  );

  it.each([
    'input.value',
    'gen_ai.prompt',
    'gen_ai.input.messages',
    'traceloop.entity.input',
    'events',
    'langsmith.metadata.x',
    'langsmith.usage_metadata',
    'tools',
    'anything',
  ])('gives way while its text is looked at in %s', (name) => {
    for (const text of [LONG_OBJECT, LONG_LIST, LONG_LIST.slice(0, -1), `"${'x'.repeat(1 << 18)}"`]) {
      const { steps, longest } = runOf(spanWith({ [name]: text }));
      if (!text.startsWith('"')) expect(steps).toBeGreaterThan(text.length / (128 * KiB));
      expect(longest).toBeLessThan(17 * KiB);
    }
  });

  it('gives way while its text is looked at in an event', () => {
    const attributes = new Map([['gen_ai.event.content', LONG_LIST]]);
    const { steps, longest, inputs } = runOf(
      spanWith({}, [{ name: 'gen_ai.user.message', timeUnixNano: 1n, attributes }]),
    );
    expect(inputs.messages[0]).toHaveLength((1 << 17) + 1);
    expect(steps).toBeGreaterThan(LONG_LIST.length / (128 * KiB));
    expect(longest).toBeLessThan(17 * KiB);
  });

  it('gives way while many short texts are looked at', () => {
    const list = `[${'1,'.repeat(4 * KiB)}1]`;
    const many = Object.fromEntries(Array.from({ length: 256 }, (_one, n) => [`a${n}`, list]));
    expect(runOf(spanWith(many)).steps).toBeGreaterThan((256 * list.length) / (128 * KiB));
  });

  it('keeps members of a text as they were sent', () => {
    const { answer } = walked(
      runOfSpan(spanWith({ metadata: '{"n":1.0, "big":12345678901234567890,"\\u0061":{"b" : 1}}' })),
    );
    expect('fields' in answer && String(answer.fields.extra)).toBe(
      '{"metadata":{"n":1.0,"big":12345678901234567890,"a":{"b" : 1}}}',
    );
  });
});
