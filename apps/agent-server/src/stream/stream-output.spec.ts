import { AIMessageChunk } from '@langchain/core/messages';
import { SecretWords } from '../wire/secret-words.js';
import type { RunEvent } from './run-event.js';
import { eventNamesOf, libraryModesOf, STREAM_MODE_NAMES, type StreamMode } from './stream-modes.js';
import { StreamOutput } from './stream-output.js';

const SECRET = 'hidden-password';

function outputOf(
  modes: readonly StreamMode[],
  isWanted = true,
): { output: StreamOutput; events: RunEvent[] } {
  const events: RunEvent[] = [];
  const output = new StreamOutput(
    modes,
    (event) => events.push(event),
    () => isWanted,
    new SecretWords([SECRET]),
  );
  return { output, events };
}

function shown(events: readonly RunEvent[]): [string, unknown][] {
  return events.map(({ event, data }) => [event, JSON.parse(data)]);
}

const PAYLOADS: Readonly<Record<string, unknown>> = {
  messages: [new AIMessageChunk({ id: 'm', content: 'Hi' }), { langgraph_node: 'talk' }],
  values: { steps: ['one'] },
};

describe('a stream mode', () => {
  it.each(STREAM_MODE_NAMES)(
    '"%s" shows what the library streams for it under the names it declares',
    (mode) => {
      const { output, events } = outputOf([mode]);
      for (const source of libraryModesOf([mode]))
        output.chunk([source, PAYLOADS[source] ?? { some: source }]);
      output.libraryEvent({ event: 'on_chain_start' });
      expect(events.length).toBeGreaterThan(0);
      expect(new Set(events.map(({ event }) => event.split(/[|/]/, 1)[0]))).toEqual(
        new Set(eventNamesOf([mode])),
      );
    },
  );

  it.each(['debug', 'tasks', 'checkpoints', 'events'] as const)(
    '"%s" takes the secrets of the server out of what it quotes',
    (mode) => {
      const { output, events } = outputOf([mode]);
      if (mode === 'events') output.libraryEvent({ error: SECRET });
      else output.chunk([mode, { error: SECRET }]);
      expect(shown(events)).toEqual([[mode, expect.objectContaining({ error: '[hidden]' })]]);
    },
  );
});

describe('StreamOutput', () => {
  it('completes a message after it shows the state that holds the message', () => {
    const { output, events } = outputOf(['values', 'messages']);
    output.chunk(['messages', [new AIMessageChunk({ id: 'm', content: 'Hi' }), {}]]);
    output.chunk(['values', { messages: [new AIMessageChunk({ id: 'm', content: 'Hi' })] }]);
    expect(events.map(({ event }) => event)).toEqual([
      'messages/metadata',
      'messages/partial',
      'values',
      'messages/complete',
    ]);
  });

  it('names the subgraph of an event and takes the result from the outermost graph only', () => {
    const { output, events } = outputOf(['values']);
    output.chunk([['child:1', 'grandchild:2'], 'values', { steps: ['inner'] }]);
    output.chunk([[], 'values', { steps: ['outer'] }]);
    expect(shown(events)).toEqual([
      ['values|child:1|grandchild:2', { steps: ['inner'] }],
      ['values', { steps: ['outer'] }],
    ]);
    expect(output.lastValues).toEqual({ steps: ['outer'] });
  });

  it('makes no text of what has no reader, and keeps the result all the same', () => {
    const { output, events } = outputOf(['values', 'updates'], false);
    output.chunk(['values', { steps: ['one'] }]);
    output.chunk(['updates', { node: {} }]);
    expect(events).toEqual([]);
    expect(output.lastValues).toEqual({ steps: ['one'] });
  });

  it('keeps interrupts apart from the values', () => {
    const { output } = outputOf([]);
    output.chunk(['values', { steps: ['one'] }]);
    output.chunk(['values', { __interrupt__: [{ value: 'sure?' }] }]);
    expect(output.interrupts).toEqual([{ value: 'sure?' }]);
    expect(output.lastValues).toEqual({ steps: ['one'] });
  });
});
