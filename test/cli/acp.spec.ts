import {
  client,
  methods,
  ndJsonStream,
  type NewSessionResponse,
  type SessionNotification,
} from '@agentclientprotocol/sdk';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { waitFor } from '#lib/testing';
import { testServer } from '../../apps/agent-server/testdata/test-server.js';
import { repository } from '../support/platform.js';

const server = testServer({ folder: join(repository, 'examples', 'new-agent') });
const talking = testServer({
  folder: join(repository, 'apps', 'agent-server', 'testdata', 'talking-agent'),
});

type Update = SessionNotification['update'];

/** An editor with the official client, in front of `agentplane acp`. */
class Editor {
  readonly updates: Update[] = [];
  /** Titles of questions, and the options that are chosen for them. */
  readonly questions: string[] = [];
  choice = 'yes';
  readonly #child: ChildProcess;
  readonly #connection: ReturnType<ReturnType<typeof client>['connect']>;

  constructor(url: string, ...words: readonly string[]) {
    const program = join(repository, 'bin', 'agentplane.js');
    this.#child = spawn(process.execPath, [program, 'acp', '--url', url, ...words], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const { stdin, stdout } = this.#child;
    if (!stdin || !stdout) throw new Error('the process has no pipes');
    const stream = ndJsonStream(
      Writable.toWeb(stdin) as WritableStream<Uint8Array>,
      Readable.toWeb(stdout) as ReadableStream<Uint8Array>,
    );
    this.#connection = client({ name: 'editor' })
      .onNotification(methods.client.session.update, ({ params }) => void this.updates.push(params.update))
      .onRequest(methods.client.session.requestPermission, ({ params }) => {
        this.questions.push(params.toolCall.title ?? '');
        const known = params.options.some(({ optionId }) => optionId === this.choice);
        return { outcome: known ? { outcome: 'selected', optionId: this.choice } : { outcome: 'cancelled' } };
      })
      .connect(stream);
  }

  get agent() {
    return this.#connection.agent;
  }

  initialize() {
    return this.agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  }

  async newSession(): Promise<string> {
    const params = { cwd: repository, mcpServers: [] };
    const made = await this.agent.request<NewSessionResponse>(methods.agent.session.new, params);
    return made.sessionId;
  }

  prompt(sessionId: string, text: string) {
    return this.agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
  }

  /** Pieces of the agent's messages, put together. */
  get said(): string {
    return this.updates
      .map((update) =>
        update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text'
          ? update.content.text
          : '',
      )
      .join('');
  }

  async close(): Promise<unknown> {
    const ended = once(this.#child, 'exit');
    this.#child.stdin?.end();
    return (await ended)[0];
  }
}

describe('agentplane acp', () => {
  let editor: Editor;
  beforeEach(async () => {
    editor = new Editor(server.url);
    await editor.initialize();
  });
  afterEach(async () => expect(await editor.close()).toBe(0));

  it('answers a prompt in pieces, and remembers what was said', async () => {
    const id = await editor.newSession();
    expect(await editor.prompt(id, 'hello')).toEqual({ stopReason: 'end_turn' });
    expect(editor.said).toBe('You said: hello');
    const thread = (await (await fetch(`${server.url}/threads/${id}/state`)).json()) as {
      values: { messages: unknown[] };
    };
    expect(thread.values.messages).toHaveLength(2);
  });

  it('shows calls of tools and their results', async () => {
    const id = await editor.newSession();
    await editor.prompt(id, 'weather in Rome');
    const call = editor.updates.find(({ sessionUpdate }) => sessionUpdate === 'tool_call');
    expect(call).toMatchObject({
      title: 'get_weather',
      status: 'in_progress',
      rawInput: { city: 'Rome' },
    });
    expect(editor.updates.find(({ sessionUpdate }) => sessionUpdate === 'tool_call_update')).toMatchObject({
      toolCallId: (call as { toolCallId: string }).toolCallId,
      status: 'completed',
      content: [{ type: 'content', content: { type: 'text', text: 'sunny in Rome' } }],
    });
    expect(editor.said).toBe('Done: sunny in Rome.');
  });

  it('asks a person for permission where the agent asks', async () => {
    const id = await editor.newSession();
    await editor.prompt(id, 'send "hi" to ann');
    expect([editor.questions, editor.said]).toEqual([['Send "hi" to ann?'], 'Done: sent to ann.']);
    editor.choice = 'no';
    await editor.prompt(id, 'send "hi" to bob');
    expect(editor.said).toContain('Done: not sent: no.');
  });

  it('takes the next message as the answer where a person chose to write one', async () => {
    editor.choice = 'later';
    const id = await editor.newSession();
    expect(await editor.prompt(id, 'send "hi" to ann')).toEqual({ stopReason: 'end_turn' });
    expect(editor.said).toBe('Send "hi" to ann?');
    await editor.prompt(id, 'too early');
    expect(editor.said).toContain('Done: not sent: too early.');
  });

  it('loads a session that another editor began', async () => {
    const id = await editor.newSession();
    await editor.prompt(id, 'hello');
    const other = new Editor(server.url);
    await other.initialize();
    await other.agent.request(methods.agent.session.load, { sessionId: id, cwd: repository, mcpServers: [] });
    expect(other.updates.map(({ sessionUpdate }) => sessionUpdate)).toEqual([
      'user_message_chunk',
      'agent_message_chunk',
    ]);
    await other.prompt(id, 'again');
    expect(other.said).toContain('You said: again');
    await other.close();
  });

  it('refuses sessions and methods that it does not know', async () => {
    await expect(editor.prompt('nowhere', 'x')).rejects.toThrow(/does not exist/);
    await expect(
      editor.agent.request(methods.agent.session.setMode, { sessionId: 'x', modeId: 'y' }),
    ).rejects.toThrow(/not known/);
  });
});

it('asks for each call of a tool that an agent wants approved', async () => {
  const editor = new Editor(talking.url, '--graph', 'approving');
  await editor.initialize();
  const id = await editor.newSession();
  editor.choice = 'approve';
  await editor.prompt(id, 'send it');
  expect(editor.questions).toEqual(['send {"to":"ann"}', 'pay {"sum":3}']);
  expect(JSON.parse(editor.said)).toEqual({ decisions: [{ type: 'approve' }, { type: 'approve' }] });
  expect(await editor.close()).toBe(0);
});

it('ends the run of a prompt that its editor cancels', async () => {
  const editor = new Editor(talking.url, '--graph', 'slow');
  await editor.initialize();
  const id = await editor.newSession();
  const answer = editor.prompt(id, 'take your time');
  const statuses = async (): Promise<string[]> =>
    ((await (await fetch(`${talking.url}/threads/${id}/runs`)).json()) as { status: string }[]).map(
      ({ status }) => status,
    );
  await waitFor(async () => (await statuses()).includes('running'));
  await editor.agent.notify(methods.agent.session.cancel, { sessionId: id });
  expect(await answer).toEqual({ stopReason: 'cancelled' });
  await waitFor(async () => (await statuses()).includes('interrupted'));
  expect(await editor.close()).toBe(0);
});
