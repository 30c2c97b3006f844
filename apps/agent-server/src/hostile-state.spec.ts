import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { testServer } from '../testdata/test-server.js';

const CANARY = 'canary-5b1e7d0c';
const LOADER = {
  lc: 1,
  type: 'constructor',
  id: ['langchain_core', 'document_loaders', 'langsmith', 'LangSmithLoader'],
  kwargs: {},
};
const FOREIGN = { lc: 1, type: 'constructor', id: ['evil', 'x'], kwargs: {} };

const server = testServer({
  env: { LANGSMITH_API_KEY: CANARY, OPENAI_API_KEY: CANARY, LANGSMITH_TRACING: 'false' },
});

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function send(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

async function newThread(): Promise<string> {
  return (JSON.parse((await send('POST', '/threads', {})).text) as { thread_id: string }).thread_id;
}

function say(extra: unknown, content: unknown = 'hi'): object {
  return {
    assistant_id: 'chat',
    input: { messages: [{ role: 'user', content, additional_kwargs: { x: extra } }] },
  };
}

/** Everything of this server's tables, as text. */
async function everythingStored(): Promise<string> {
  const client = new pg.Client({ connectionString: server.uri });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'agentplane'",
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ text: string }>(
        `SELECT row_to_json(t)::text AS text FROM ${name} t`,
      );
      texts.push(...rows.map(({ text }) => text));
      // blobs are bytea, printed in hex
      texts.push(
        ...rows.map(({ text }) =>
          text.replaceAll(/\\\\x([0-9a-f]+)/g, (_, hex: string) =>
            Buffer.from(hex, 'hex').toString('latin1'),
          ),
        ),
      );
    }
    return texts.join('\n');
  } finally {
    await client.end();
  }
}

interface State {
  readonly values: {
    readonly messages: readonly { readonly additional_kwargs?: { readonly x?: unknown } }[];
  };
}

describe('state that imitates serialised classes', () => {
  it.each<[string, unknown]>([
    ['a class that reads a key from the environment', LOADER],
    ['a class of an unknown namespace', FOREIGN],
    ['a function', { ...LOADER, id: ['langchain_core', 'runnables', 'ensureConfig'] }],
    ['a secret of the environment', { lc: 1, type: 'secret', id: ['LANGSMITH_API_KEY'] }],
    ['a class without text', { lc: 1, type: 'not_implemented', id: ['a', 'b'] }],
    ['an undefined value', { lc: 2, type: 'undefined' }],
    ['a broken pattern', { lc: 2, type: 'constructor', id: ['RegExp'], method: null, args: ['(', ''] }],
    ['an escaped object', { __lc_escaped__: LOADER }],
    ['a tag of the server', { $ap: 'message', name: 'HumanMessage', fields: [['content', 'x']] }],
  ])('comes back as the equal value: %s', async (_, extra) => {
    const threadId = await newThread();
    expect((await send('POST', `/threads/${threadId}/runs/wait`, say(extra))).status).toBe(200);
    // the second run reads what the first has stored
    const second = await send('POST', `/threads/${threadId}/runs/wait`, say({ again: [extra] }));
    expect([second.status, second.text]).toEqual([200, expect.not.stringContaining('__error__')]);
    const state = await send('GET', `/threads/${threadId}/state`);
    expect(state.status).toBe(200);
    const { messages } = (JSON.parse(state.text) as State).values;
    expect(messages[0]?.additional_kwargs?.x).toEqual(extra);
    expect(messages[2]?.additional_kwargs?.x).toEqual({ again: [extra] });
    const history = await send('POST', `/threads/${threadId}/history`, {});
    expect(history.status).toBe(200);
  });

  it('never ends in a server error, whatever a caller sends', async () => {
    const tree = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<unknown>(LOADER, FOREIGN, null, 1, 'x', { lc: 2, type: 'undefined' }),
        fc.array(tie('value'), { maxLength: 2 }),
        fc.dictionary(
          fc.constantFrom('lc', 'type', 'id', 'kwargs', '$ap', '__lc_escaped__', 'content'),
          tie('value'),
          {
            maxKeys: 4,
          },
        ),
      ),
    })).value;
    await fc.assert(
      fc.asyncProperty(tree, tree, async (first, second) => {
        const threadId = await newThread();
        const answers = [
          await send('POST', `/threads/${threadId}/runs/wait`, say(first)),
          await send('POST', `/threads/${threadId}/state`, { values: { messages: [second] } }),
          await send('POST', `/threads/${threadId}/state`, {
            values: { messages: [{ role: 'user', content: 'x', additional_kwargs: { x: second } }] },
          }),
          await send('PATCH', `/threads/${threadId}`, { metadata: { given: first } }),
          await send('POST', '/threads', { metadata: { given: second } }),
          await send('POST', '/runs/wait', { ...say(second), metadata: { given: first } }),
          await send('POST', '/assistants', {
            graph_id: 'chat',
            metadata: { given: first },
            context: { given: second },
          }),
          await send('GET', `/threads/${threadId}/state`),
          await send('POST', `/threads/${threadId}/history`, {}),
          await send('GET', `/threads/${threadId}`),
        ];
        for (const { status, text } of answers) {
          expect({ status, text }).toMatchObject({
            status: expect.any(Number),
            text: expect.not.stringContaining(CANARY),
          });
          expect(status < 500 ? '' : `${status} ${text}`).toBe('');
        }
      }),
      { numRuns: 25 },
    );
  });

  it('opens threads that hold what LangGraph itself could not read again', async () => {
    const threadId = await newThread();
    expect((await send('POST', `/threads/${threadId}/runs/wait`, say('kept'))).status).toBe(200);
    const client = new pg.Client({ connectionString: server.uri });
    await client.connect();
    const human = { lc: 1, type: 'constructor', id: ['langchain_core', 'messages', 'HumanMessage'] };
    const stored = JSON.stringify([
      { ...human, kwargs: { content: 'old', additional_kwargs: { x: FOREIGN } } },
    ]);
    await client.query(
      "UPDATE agentplane.checkpoint_blobs SET type = 'json', blob = $2 WHERE thread_id = $1 AND channel = 'messages'",
      [threadId, Buffer.from(stored)],
    );
    await client.end();
    const state = await send('GET', `/threads/${threadId}/state`);
    expect((JSON.parse(state.text) as State).values.messages[0]).toMatchObject({
      type: 'human',
      content: 'old',
      additional_kwargs: { x: FOREIGN },
    });
    expect((await send('POST', `/threads/${threadId}/runs/wait`, say('next'))).status).toBe(200);
  });

  it('brings nothing of the environment into answers or tables', async () => {
    expect(await everythingStored()).not.toContain(CANARY);
  });
});
