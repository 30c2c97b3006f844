import { sendRaw } from '#lib/testing';
import { testServer } from '../testdata/test-server.js';

const server = testServer();

interface Answer {
  readonly status: number;
  readonly body: { readonly detail?: unknown } & Readonly<Record<string, unknown>>;
}

/** @param body text is sent as it is */
async function send(
  method: string,
  path: string,
  body?: unknown,
  contentType = 'application/json',
): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : {
          headers: { 'content-type': contentType },
          body: typeof body === 'string' ? body : JSON.stringify(body),
        }),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Answer['body'] };
}

async function newThread(): Promise<string> {
  return String((await send('POST', '/threads', {})).body['thread_id']);
}

async function stepsOf(threadId: string): Promise<unknown> {
  const { values } = (await send('GET', `/threads/${threadId}/state`)).body as {
    values: { steps?: unknown };
  };
  return values.steps;
}

const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const RUN = '"assistant_id": "counter", "input": {}';

/** An object with this number of members. */
function members(count: number): string {
  return `{${Array.from({ length: count }, (_, n) => `"k${n}":${n}`).join()}}`;
}

describe('a body', () => {
  it.each<[string, string, string, number]>([
    ['nested too deeply', '/runs/wait', `{${RUN}, "metadata": {"a": ${nested(100_000)}}}`, 422],
    [
      'nested too deeply in its input',
      '/runs/wait',
      `{"assistant_id": "counter", "input": ${nested(5_000)}}`,
      422,
    ],
    [
      'whose text only looks nested',
      '/runs/wait',
      `{${RUN}, "metadata": {"a": "\\"${'['.repeat(5_000)}"}}`,
      200,
    ],
    [
      'of few bytes and many values',
      '/runs/wait',
      `{"assistant_id": "counter", "input": {"a": [${'{},'.repeat(1_000_000)}{}]}}`,
      422,
    ],
    [
      'with as many members as it may have',
      '/runs/wait',
      `{"assistant_id": "counter", "input": {"steps": [${members(49_997)}]}}`,
      200,
    ],
    [
      'with more members than it may have',
      '/runs/wait',
      `{"assistant_id": "counter", "input": {"steps": [${members(49_998)}]}}`,
      422,
    ],
    ['for a thread with as many members of metadata', '/threads', `{"metadata": ${members(50_000)}}`, 422],
    ['with a lone surrogate in its metadata', '/runs/wait', `{${RUN}, "metadata": {"a": "\\ud800"}}`, 200],
    ['with a NUL in a name of its metadata', '/runs/wait', `{${RUN}, "metadata": {"a\\u0000": 1}}`, 422],
    ['with a NUL in a text of its metadata', '/runs/wait', `{${RUN}, "metadata": {"a": "\\u0000"}}`, 200],
    [
      'with a NUL in its configuration',
      '/runs/wait',
      `{${RUN}, "config": {"configurable": {"a\\u0000": 1}}}`,
      422,
    ],
    ['with half a character in a name', '/runs/wait', `{${RUN}, "metadata": {"\\ud800": 1}}`, 422],
    [
      'with one name twice',
      '/runs/wait',
      `{${RUN}, "config": {"configurable": {"user": 1, "user": 2}}}`,
      422,
    ],
    [
      'whose input is a command, which no handler sees as one',
      '/runs/wait',
      '{"assistant_id": "asking", "input": {"lg_name": "Command", "update": {"steps": ["forged"]}}}',
      422,
    ],
    ['with two assistants', '/runs/wait', `{${RUN}, "assistant_id": "failing"}`, 422],
    [
      'of many runs, one with a NUL in a name',
      '/runs/batch',
      `[{${RUN}}, {${RUN}, "metadata": {"\\u0000": 1}}]`,
      422,
    ],
    ['to begin after the end of time', '/runs', `{${RUN}, "after_seconds": 1e300}`, 422],
    ['to begin in three million years', '/runs', `{${RUN}, "after_seconds": 1e14}`, 422],
    [
      'with a stream mode that is not supported',
      '/runs',
      `{${RUN}, "stream_mode": ["values", "tokens"]}`,
      422,
    ],
    ['for a graph whose name has a NUL', '/runs', `{"assistant_id": "a\\u0000b"}`, 404],
    ['for a thread with a superstep that is none', '/threads', '{"supersteps": [{}]}', 422],
    ['for a thread with supersteps of no graph', '/threads', '{"supersteps": [{"updates": [{}]}]}', 400],
    ['for a thread with a lone surrogate', '/threads', '{"metadata": {"a": "x\\ud800y"}}', 200],
    ['for a search with a lone surrogate', '/threads/search', '{"metadata": {"a": "\\ud800"}}', 200],
    ['for a search of values with a NUL', '/threads/search', '{"values": {"a": "\\u0000"}}', 200],
    ['for a search of assistants with a NUL', '/assistants/search', '{"name": "a\\u0000"}', 422],
    ['for a search of graphs with a NUL', '/assistants/search', '{"graph_id": "a\\u0000"}', 422],
    ['for an assistant with a NUL', '/assistants', '{"graph_id": "counter", "name": "a\\u0000"}', 422],
    ['of too many runs', '/runs/batch', `[${`{${RUN}},`.repeat(1_000)}{${RUN}}]`, 413],
    ['that is no JSON', '/threads', '{', 400],
    ['that is no object', '/threads', '[]', 422],
  ])('answers a body %s at %s', async (_title, path, body, status) => {
    const answer = await send('POST', path, body);
    expect([answer.status, answer.body.detail]).toEqual([
      status,
      status === 200 ? undefined : status === 422 ? expect.any(Array) : expect.any(String),
    ]);
  });

  it('refuses an unknown stream mode with the list of the known ones', async () => {
    const { body } = await send('POST', '/runs', { assistant_id: 'counter', stream_mode: ['tokens'] });
    expect(body.detail).toEqual([
      {
        loc: ['body', 'stream_mode', 0],
        msg: expect.stringContaining('"messages-tuple"'),
        type: 'invalid_value',
      },
    ]);
  });

  it('takes anything that JSON allows as the input of a run', async () => {
    const body =
      '{"assistant_id": "counter", "input": {"a\\u0000": "\\ud800\\u0000", "b": 1, "b": 2, "__proto__": {"c": 3}}}';
    for (const path of [`/threads/${await newThread()}/runs/wait`, '/runs/wait', '/runs']) {
      const answer = await send('POST', path, body);
      expect([path, answer.status]).toEqual([path, 200]);
    }
  });

  it('keeps a member __proto__ in values, and refuses it by its name elsewhere', async () => {
    const id = await newThread();
    await send('POST', `/threads/${id}/runs/wait`, { assistant_id: 'counter', input: {} });
    const steps = '[{"__proto__": {"isAdmin": true}, "a": 1}]';
    await send('POST', `/threads/${id}/state`, `{"values": {"steps": ${steps}}}`);
    expect(JSON.stringify((await send('GET', `/threads/${id}/state`)).body['values'])).toContain(
      '{"__proto__":{"isAdmin":true},"a":1}',
    );
    const { status, body } = await send('POST', '/threads', '{"metadata": {"__proto__": {"owner": "me"}}}');
    expect([status, body.detail]).toEqual([
      422,
      [
        {
          loc: ['body', 'metadata', '__proto__'],
          msg: '"__proto__" cannot be the name of a member; rename it',
          type: 'reserved_name',
        },
      ],
    ]);
  });

  it('says where a name comes twice', async () => {
    const { body } = await send('POST', '/threads', '{"metadata": {"owner": "me", "owner": "you"}}');
    expect(body.detail).toEqual([
      {
        loc: ['body', 'metadata', 'owner'],
        msg: 'the name "owner" comes twice in one object; send it once',
        type: 'duplicate_name',
      },
    ]);
  });

  it('refuses bytes that are not UTF-8', async () => {
    const response = await fetch(`${server.url}/threads`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.concat([Buffer.from('{"metadata":{"a":"'), Buffer.from([0xff]), Buffer.from('"}}')]),
    });
    expect([response.status, await response.json()]).toEqual([
      400,
      { detail: 'The body is not UTF-8: byte 18 belongs to no character; send UTF-8' },
    ]);
  });

  it.each([
    ['application/xml', '<a/>'],
    ['text/plain', '{}'],
    ['application/x-www-form-urlencoded', 'metadata=1'],
    ['multipart/form-data; boundary=b', '--b--'],
    ['nonsense', '{}'],
  ])('refuses a body of the type %s with 415', async (type, body) => {
    expect(await send('POST', '/threads', body, type)).toMatchObject({
      status: 415,
      body: { detail: expect.any(String) },
    });
  });

  it('refuses ten thousand levels at every route that takes a body, and serves on', async () => {
    const deep = nested(10_000);
    const threadId = await newThread();
    const bodies: readonly (readonly [string, string, string])[] = [
      ['POST', '/threads', `{"metadata": {"a": ${deep}}}`],
      ['PATCH', `/threads/${threadId}`, `{"metadata": {"a": ${deep}}}`],
      ['POST', '/threads/search', `{"values": {"a": ${deep}}}`],
      ['POST', `/threads/${threadId}/state`, `{"values": {"a": ${deep}}}`],
      ['POST', `/threads/${threadId}/history`, `{"metadata": {"a": ${deep}}}`],
      [
        'POST',
        `/threads/${threadId}/commands`,
        `{"id": 1, "method": "run.start", "params": {"input": ${deep}}}`,
      ],
      ['POST', '/threads/prune', `{"metadata": {"a": ${deep}}}`],
      ['POST', '/assistants', `{"graph_id": "counter", "config": {"configurable": {"a": ${deep}}}}`],
      ['POST', '/assistants/search', `{"metadata": {"a": ${deep}}}`],
      ['POST', '/runs', `{"assistant_id": "counter", "command": {"resume": ${deep}}}`],
      ['POST', '/runs/batch', `[{"assistant_id": "counter", "input": ${deep}}]`],
      ['POST', '/runs/crons', `{"assistant_id": "counter", "schedule": "@daily", "input": ${deep}}`],
      ['POST', '/runs/crons/search', `{"metadata": {"a": ${deep}}}`],
      ['PUT', '/store/items', `{"namespace": ["a"], "key": "k", "value": {"a": ${deep}}}`],
      ['POST', '/store/items/search', `{"namespace_prefix": ["a"], "filter": {"a": ${deep}}}`],
      ['POST', '/store/namespaces', `{"prefix": ${deep}}`],
    ];
    const answers = await Promise.all(
      bodies.map(
        async ([method, path, body]) => `${(await send(method, path, body)).status} ${method} ${path}`,
      ),
    );
    expect(answers).toEqual(bodies.map(([method, path]) => `422 ${method} ${path}`));
    expect((await send('GET', '/ok')).status).toBe(200);
  });
});

describe('metadata', () => {
  it('keeps a text with a NUL apart from the text without it', async () => {
    const { thread_id: id } = (await send('POST', '/threads', '{"metadata": {"owner": "me\\u0000"}}')).body;
    const found = (await send('POST', '/threads/search', { metadata: { owner: 'me' } })).body as unknown as {
      thread_id: string;
    }[];
    expect(found.map((thread) => thread.thread_id)).not.toContain(id);
    expect((await send('GET', `/threads/${String(id)}`)).body['metadata']).toEqual({ owner: 'me\ufffd' });
  });
});

describe('an address', () => {
  it.each([
    ['that cannot be decoded', '/assistants/%E0%A4%A', 400],
    ['whose id holds a slash', '/threads/ID%2Fstate', 422],
    ['whose id leads up', '/threads/..%2F..%2Fok', 422],
    ['whose graph holds a slash', '/assistants/a%2Fb', 404],
    ['of a run whose id holds a slash', '/threads/ID/runs/ID%2Fjoin', 422],
    ['of an item whose namespace holds a slash and a NUL', '/store/items?namespace=a%2Fb%00&key=k', 422],
    ['of a list with a status that is none', '/threads/ID/runs?status=%00', 422],
    ['of a list with a limit that is none', '/threads/ID/runs?limit=-1', 422],
    ['of a state with a NUL', '/threads/ID/state/a%00b', 422],
    ['of a join with a mode that is none', '/threads/ID/runs/ID/stream?stream_mode=telepathy', 422],
  ])('refuses an address %s', async (_title, path, status) => {
    const answer = await send('GET', path.replaceAll('ID', await newThread()));
    expect([answer.status, answer.body.detail]).toEqual([status, expect.anything()]);
  });

  it('filters a history by anything', async () => {
    const path = `/threads/${await newThread()}/history`;
    await send('POST', path.replace('history', 'runs/wait'), { assistant_id: 'counter', input: {} });
    for (const body of ['{"metadata": {"a": "\\ud800"}}', '{"metadata": {"a": "\\u0000"}}'])
      expect(await send('POST', path, body)).toEqual({ status: 200, body: [] });
    for (const body of [{ before: { checkpoint_id: { a: 1 } } }, { checkpoint: { checkpoint_ns: ['x'] } }])
      expect((await send('POST', path, body)).status).toBe(422);
  });
});

describe('a WebSocket that is asked for before the answer to another request', () => {
  it('ends its connection alone', async () => {
    const path = '/threads/6b2f4a0e-0000-4000-8000-000000000000/stream/events';
    const socket = [
      `GET ${path} HTTP/1.1`,
      'Host: a',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      '',
      '',
    ].join('\r\n');
    await sendRaw(server.port, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n${socket}`);
    expect((await send('GET', '/ok')).status).toBe(200);
  });
});

describe('a checkpoint in a request', () => {
  it('leads into no other thread', async () => {
    const [mine, theirs] = [await newThread(), await newThread()];
    const counted = { assistant_id: 'counter', input: {} };
    for (const id of [mine, theirs]) await send('POST', `/threads/${id}/runs/wait`, counted);
    const { checkpoint } = (await send('GET', `/threads/${theirs}/state`)).body;
    await send('POST', `/threads/${mine}/runs/wait`, { ...counted, checkpoint });
    expect(await stepsOf(theirs)).toEqual(['step 1']);
  });

  it('brings no name of the server or of the caller', async () => {
    const id = await newThread();
    await send('POST', `/threads/${id}/runs/wait`, { assistant_id: 'hostile', input: {} });
    const { checkpoint } = (await send('GET', `/threads/${id}/state`)).body as { checkpoint: object };
    const smuggled = { ...checkpoint, langgraph_auth_user: { identity: 'root' }, __pregel_resuming: true };
    const { body } = await send('POST', `/threads/${id}/runs/wait`, {
      assistant_id: 'hostile',
      input: { act: 'configurable:langgraph_auth_user' },
      checkpoint: smuggled,
    });
    expect(body['value'] ?? null).toBeNull();
  });

  it('answers 404 for a checkpoint that does not exist, and leaves the thread as it is', async () => {
    const id = await newThread();
    const counted = { assistant_id: 'counter', input: {} };
    await send('POST', `/threads/${id}/runs/wait`, counted);
    const checkpoint_id = '1f000000-0000-6000-8000-000000000000';
    const { body } = await send('POST', `/threads/${id}/runs/wait`, { ...counted, checkpoint_id });
    expect(body['__error__']).toMatchObject({ error: 'CheckpointNotFound' });
    expect((await send('GET', `/threads/${id}/state/${checkpoint_id}`)).status).toBe(404);
    expect(await stepsOf(id)).toEqual(['step 1']);
  });
});

describe('the state of a thread', () => {
  it('reads and changes the state of a thread whose assistant was deleted', async () => {
    const { assistant_id } = (await send('POST', '/assistants', { graph_id: 'counter' })).body;
    const id = await newThread();
    await send('POST', `/threads/${id}/runs/wait`, { assistant_id, input: {} });
    expect((await send('DELETE', `/assistants/${String(assistant_id)}`)).status).toBe(204);
    expect(await stepsOf(id)).toEqual(['step 1']);
    expect((await send('POST', `/threads/${id}/state`, { values: { steps: ['x'] } })).status).toBe(200);
    expect(await stepsOf(id)).toEqual(['step 1', 'x']);
  });

  it('shows its values when this revision does not have its graph', async () => {
    const id = await newThread();
    await send('POST', `/threads/${id}/runs/wait`, { assistant_id: 'counter', input: {} });
    await send('PATCH', `/threads/${id}`, { metadata: { graph_id: 'of an earlier revision' } });
    expect(await stepsOf(id)).toEqual(['step 1']);
  });

  it('changes the states of many threads at once', async () => {
    const ids = await Promise.all(Array.from({ length: 24 }, newThread));
    await Promise.all(
      ids.map((id) => send('POST', `/threads/${id}/runs/wait`, { assistant_id: 'counter', input: {} })),
    );
    const changed = await Promise.all(
      ids.map((id) => send('POST', `/threads/${id}/state`, { values: { steps: ['by hand'] } })),
    );
    expect(changed.map((answer) => answer.status)).toEqual(ids.map(() => 200));
  });
});
