import { Body, Inject, Res } from '@nestjs/common';
import { Transform } from 'class-transformer';
import type { FastifyReply } from 'fastify';
import { type Answer, type Happening, type Saying } from '#lib/conversation';
import { PublicError } from '#lib/errors';
import { sayingOf, streamTalk, TALK_LINES } from '#lib/page';
import type { TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { Deployments } from '../deployment/deployments.js';
import { wireName } from '../deployment/render-deployment.js';
import { Resource } from '../wire/operation.js';
import { Text, TextList } from '../wire/fields.js';
import { PathId } from '../wire/query-flag.js';
import { asList } from '../wire/shape.js';
import { AgentCalls } from './agent-calls.js';
import { Page, PageForm, type PageReader, PageReaders } from './page-readers.js';
import { renderThread, type ShownThread, TALK } from './talk-page.js';

/** Most questions and calls of tools in one form. */
const MOST = 100;

/** Form of a talk: a message, or the answers to all that the agent asks, in the order of its questions. */
export class TalkForm {
  @Text({ maxLength: 10_000, about: 'Message to the agent' })
  text?: string;

  @TextList({ maxSize: MOST, maxLength: 200, about: 'Ids of the questions that were shown' })
  @Transform(asList)
  question?: string[];

  @TextList({ maxSize: MOST, maxLength: 10_000, about: 'Answers to questions, as text or JSON' })
  @Transform(asList)
  answer?: string[];

  @TextList({ maxSize: MOST, choices: ['approve', 'reject', 'edit'], about: 'Decisions on calls of tools' })
  @Transform(asList)
  decision?: string[];

  @TextList({ maxSize: MOST, maxLength: 2_000, about: 'A reason for each decision; empty for most' })
  @Transform(asList)
  reason?: string[];

  @TextList({ maxSize: MOST, maxLength: 10_000, about: 'Arguments for each decision, as JSON' })
  @Transform(asList)
  args?: string[];
}

/** Form that begins a thread. */
export class BeginForm {
  @Text({ maxLength: 200, about: 'Id of the assistant; the first graph when absent' })
  assistant?: string;
}

/** The reader of an answer while it comes. */
interface Listening {
  readonly onHappening: (what: Happening) => void;
  /** Aborted when the reader leaves: the run continues, and nothing reads it here. */
  readonly signal: AbortSignal;
}

function leavingOf({ raw }: FastifyReply): AbortSignal {
  const left = new AbortController();
  raw.once('close', () => left.abort(new Error('the reader has left')));
  return left.signal;
}

interface AskedThread {
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly threadId: string;
}

/** Threads of agents for people, and what they say in them. */
@Resource('Pages', 'o/:tenant_id/deployments/:deployment_id/threads')
export class TalkController {
  constructor(
    private readonly readers: PageReaders,
    private readonly deployments: Deployments,
    private readonly agents: AgentCalls,
    @Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'projects'>,
  ) {}

  @PageForm('', 'Begins a thread of an agent, and leads to it')
  async begin(
    @PathId('tenant_id') tenantId: string,
    @PathId('deployment_id') deploymentId: string,
    @Body() { assistant = '' }: BeginForm,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.readers.act({ reply, tenantId, route: TALK }, async (reader) => {
      const deployment = this.deployments.find(reader.caller, deploymentId);
      const id = await this.agents.begin(deployment, reader, assistant);
      return reader.pathOf('deployments', deploymentId, 'threads', id);
    });
  }

  @Page(':thread_id', 'A thread of an agent as a talk, for a signed-in person')
  async thread(
    @PathId('tenant_id') tenantId: string,
    @PathId('deployment_id') deploymentId: string,
    @PathId('thread_id') threadId: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.readers.show({ reply, tenantId, route: TALK }, async (reader, hold) =>
      renderThread(await this.#open(reader, { tenantId, deploymentId, threadId }, hold), reader),
    );
  }

  @PageForm(
    ':thread_id',
    'Says something to an agent, or answers what it asks; the script of the page reads JSON lines',
    {
      countsAnswer: true,
    },
  )
  async say(
    @PathId('tenant_id') tenantId: string,
    @PathId('deployment_id') deploymentId: string,
    @PathId('thread_id') threadId: string,
    @Body() form: TalkForm,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const asked = { reply, tenantId, route: TALK };
    const which = { tenantId, deploymentId, threadId };
    if (reply.request.headers.accept !== TALK_LINES)
      return await this.readers.act(asked, async (reader) => {
        await this.#say(reader, which, form, { onHappening: () => undefined, signal: leavingOf(reply) });
        return reader.pathOf('deployments', deploymentId, 'threads', threadId);
      });
    const reader = await this.readers.enterByForm(asked);
    if (reader) await this.#stream(reader, which, form, reply);
  }

  async #open(
    reader: PageReader,
    { tenantId, deploymentId, threadId }: AskedThread,
    hold: (bytes: number) => void,
  ): Promise<ShownThread> {
    const deployment = this.deployments.find(reader.caller, deploymentId);
    const name = wireName(deployment);
    const found = await this.agents.threadOf(deployment, threadId, reader, hold);
    const project = await this.store.projects.find(tenantId, { name });
    return { ...found, deployment: { id: deploymentId, name }, projectId: project?.id };
  }

  async #say(
    reader: PageReader,
    { deploymentId, threadId }: AskedThread,
    form: TalkForm,
    { onHappening, signal }: Listening,
  ): Promise<Answer> {
    const deployment = this.deployments.find(reader.caller, deploymentId);
    return await this.agents.talk(deployment, threadId, reader, async (conversation) => {
      const saying: Saying = sayingOf(form, await conversation.waitsWith());
      const answer = await conversation.say(saying, onHappening, signal);
      if (answer.error !== null) throw new PublicError('conflict', `The run failed: ${answer.error}`);
      return answer;
    });
  }

  /** Sends what happens as it happens, each as a line of JSON. A reader that leaves does not end the run. */
  async #stream(reader: PageReader, which: AskedThread, form: TalkForm, reply: FastifyReply): Promise<void> {
    const { raw } = reply.hijack();
    const signal = leavingOf(reply);
    await streamTalk(raw, (onHappening) => this.#say(reader, which, form, { onHappening, signal }));
  }
}
