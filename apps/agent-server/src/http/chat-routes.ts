import { type AddressInfo, isIPv6 } from 'node:net';
import type { Readable } from 'node:stream';
import type { Client } from '@langchain/langgraph-sdk';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Admission } from '#lib/admission';
import {
  assistantOfThread,
  assistantsOf,
  beginThread,
  Conversation,
  type Happening,
  newestThreads,
  questionsOf,
  refusalWords,
  type ThreadValues,
} from '#lib/conversation';
import { PublicError, type PublicErrorCode } from '#lib/errors';
import { readBody } from '#lib/http';
import { isJsonObject } from '#lib/json';
import { AddressGuard, agentFetch } from '#lib/outbound';
import {
  escapeHtml,
  PAGE_HEADERS,
  renderBeginForm,
  renderDocument,
  renderTalk,
  renderThreadState,
  renderThreadTable,
  renderTime,
  sayingOf,
  streamTalk,
  TALK_LINES,
} from '#lib/page';
import type { Clock } from '#lib/time';
import { isOwnPage } from './cors.js';
import { pathText } from './request-parts.js';
import { access } from './route-access.js';

/** Headers by which a caller authenticates: calls for a page are those of its reader. */
const CALLER_HEADERS = ['authorization', 'x-api-key', 'x-auth-scheme', 'cookie'];
const MAX_FORM_BYTES = 262_144;
const THREADS = 50;

/** Reads for pages at once, of all and of one caller: each parses what no other route of the server parses. */
const READS_AT_ONCE = { capacity: 3, perOwner: 2 };

/** No other route: a page of any host may send a form without asking first. */
const FORM = { config: { access: 'any', takesForm: true } } as const;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for a route that reads a form. */
    readonly takesForm?: boolean;
  }
}

export interface ChatRouteParts {
  /** True when requests need a key or a login. */
  readonly isGuarded: boolean;
  /** Prefix of every path. */
  readonly mountPrefix: string;
  readonly clock: Clock;
}

/**
 * Pages to talk with the agent. They are made of the server's own REST answers, asked with the credentials of
 * the reader. A browser sends no key by itself: where one is needed, the first page takes it, and its script
 * fetches the others with it.
 */
export function registerChatRoutes(app: FastifyInstance, parts: ChatRouteParts): void {
  const chat = new Chat(app, parts);
  app.get('/chat', access('open'), (_request, reply) => chat.open(reply));
  app.get('/chat/threads', access('any'), (request, reply) => chat.threads(request, reply));
  app.get('/chat/threads/:thread_id', access('any'), (request, reply) => chat.thread(request, reply));
  app.post('/chat/threads', FORM, (request, reply) => chat.begin(request, reply));
  app.post('/chat/threads/:thread_id', FORM, (request, reply) => chat.say(request, reply));
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    async (request: FastifyRequest, body: Readable) => {
      if (request.routeOptions.config.takesForm !== true)
        throw Object.assign(new Error('this route takes no form'), { statusCode: 415 });
      return new URLSearchParams((await readBody(body, MAX_FORM_BYTES)).toString());
    },
  );
}

class Chat {
  readonly #reads = new Admission(READS_AT_ONCE);
  readonly #guard = new AddressGuard({
    allowPrivate: true,
    refuse: (why) => new Error(`the address of the server is ${why}`),
  });

  constructor(
    private readonly app: FastifyInstance,
    private readonly parts: ChatRouteParts,
  ) {}

  async open(reply: FastifyReply): Promise<FastifyReply> {
    if (!this.parts.isGuarded) return reply.redirect(this.#path(), 303);
    const form = `<form class="enter" method="post" action="${escapeHtml(this.#path())}">
<p class="problem error" role="alert"></p>
<label>API key, or the value of the header Authorization <input name="key" type="password" autocomplete="off" required autofocus></label>
<div class="actions"><button>Open</button><span class="quiet">It stays in this tab.</span></div>
</form>`;
    return this.#send(reply, 'Talk to the agent', `<h1>Talk to the agent</h1>\n${form}`);
  }

  async threads(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const [threads, assistants] = await this.#ask(request, (client) =>
      Promise.all([newestThreads(client, THREADS), assistantsOf(client)]),
    );
    const table = renderThreadTable(threads, this.#path(), renderTime);
    return this.#send(
      reply,
      'Threads',
      `<h1>Threads</h1>\n${renderBeginForm(assistants, this.#path(), 'New thread')}\n${table}`,
    );
  }

  async begin(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const asked = formOf(request).get('assistant') ?? '';
    const id = await this.#ask(request, (client) => beginThread(client, asked));
    return reply.redirect(`${this.#path()}/${encodeURIComponent(id)}`, 303);
  }

  async thread(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const threadId = pathText(request, 'thread_id');
    const [found, state] = await this.#ask(request, (client) =>
      Promise.all([
        client.threads.get<ThreadValues>(threadId),
        client.threads.getState<ThreadValues>(threadId),
      ]),
    );
    const questions = questionsOf(state.tasks);
    const id = threadId.slice(0, 8);
    const action = `${this.#path()}/${encodeURIComponent(threadId)}`;
    const thread = { ...found, values: state.values };
    const main = `<p class="trail"><a href="${escapeHtml(this.#path())}">Threads</a></p><h1>Thread ${escapeHtml(id)}</h1>
<dl class="facts"><div><dt>state</dt> <dd>${renderThreadState(found.status)}</dd></div><div><dt>changed</dt> <dd>${renderTime(found.updated_at)}</dd></div><div><dt>graph</dt> <dd>${escapeHtml(String(found.metadata?.['graph_id'] ?? ''))}</dd></div></dl>
${renderTalk({ thread, questions, action })}`;
    return this.#send(reply, `Thread ${id}`, main);
  }

  /** Says something. The script of the page reads lines of JSON; a form without it is led back to the thread. */
  async say(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const form = formOf(request);
    const threadId = pathText(request, 'thread_id');
    if (request.headers.accept !== TALK_LINES) {
      await this.#say(request, reply, form, () => undefined);
      return reply.redirect(`${this.#path()}/${encodeURIComponent(threadId)}`, 303);
    }
    const { raw } = reply.hijack();
    await streamTalk(raw, (onHappening) => this.#say(request, reply, form, onHappening));
    return reply;
  }

  async #say(
    request: FastifyRequest,
    { raw }: FastifyReply,
    form: URLSearchParams,
    onHappening: (what: Happening) => void,
  ): Promise<void> {
    const threadId = pathText(request, 'thread_id');
    const left = new AbortController();
    raw.once('close', () => left.abort(new Error('the reader has left')));
    await this.#ask(request, async (client) => {
      const assistantId = await assistantOfThread(client, threadId);
      const { clock } = this.parts;
      const rest = { findRun: undefined, onDisconnect: 'continue', clock } as const;
      const conversation = new Conversation({ client, threadId, assistantId, ...rest });
      const lists = ['question', 'answer', 'decision', 'reason', 'args'].map((name) => [
        name,
        form.getAll(name),
      ]);
      const fields = { text: form.get('text') ?? undefined, ...Object.fromEntries(lists) };
      const saying = sayingOf(fields, await conversation.waitsWith());
      const { error } = await conversation.say(saying, onHappening, left.signal);
      if (error !== null) throw new PublicError('conflict', `The run failed: ${error}`);
    });
  }

  /** Calls the server itself as the reader. @throws PublicError with the words of a refusal */
  async #ask<T>(request: FastifyRequest, call: (client: Client) => Promise<T>): Promise<T> {
    // takes a moment to load, and most servers show no page
    const { Client: SdkClient } = await import('@langchain/langgraph-sdk');
    const sent = CALLER_HEADERS.map((name) => [name, request.headers[name]] as const);
    const defaultHeaders = Object.fromEntries(
      sent.filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
    );
    const { address, port } = this.app.server.address() as AddressInfo;
    const apiUrl = `http://${hostOf(address)}:${port}${this.parts.mountPrefix}`;
    const owner = Object.values(defaultHeaders).join(' ');
    const bounded = agentFetch({ guard: this.#guard, reads: this.#reads, owner });
    const callerOptions = { maxRetries: 0, fetch: bounded };
    // null: the key in the environment of the server is not the reader's
    const client = new SdkClient({ apiUrl, apiKey: null, defaultHeaders, callerOptions });
    try {
      return await call(client);
    } catch (error) {
      throw refusalOf(error);
    }
  }

  #path(): string {
    return `${this.parts.mountPrefix}/chat/threads`;
  }

  #send(reply: FastifyReply, title: string, main: string): FastifyReply {
    return reply.headers({ ...PAGE_HEADERS, 'cache-control': 'no-store' }).send(renderDocument(title, main));
  }
}

/** The fields of a form of the server's own pages, or of an object of JSON. @throws PublicError forbidden for one of another host */
function formOf({ headers, body }: FastifyRequest): URLSearchParams {
  if (!isOwnPage(headers))
    throw new PublicError(
      'forbidden',
      'The form is of a page of another host; send it from /chat of this server',
    );
  if (body instanceof URLSearchParams) return body;
  const fields = Object.entries(isJsonObject(body) ? body : {});
  return new URLSearchParams(fields.filter((one): one is [string, string] => typeof one[1] === 'string'));
}

function hostOf(address: string): string {
  if (address === '::' || address === '0.0.0.0') return '127.0.0.1';
  return isIPv6(address) ? `[${address}]` : address;
}

const CODES: Readonly<Record<number, PublicErrorCode>> = {
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  422: 'invalid',
  429: 'too_many',
  503: 'unavailable',
};

/** The refusal of a call of the server itself, as the same refusal of a page. */
function refusalOf(error: unknown): unknown {
  const { status, text } = isJsonObject(error) ? error : {};
  const code = typeof status === 'number' ? CODES[status] : undefined;
  if (code === undefined || typeof text !== 'string') return error;
  return new PublicError(code, refusalWords(text) || `The agent answered ${String(status)}`);
}
