import { createInterface } from 'node:readline/promises';
import { cellText, shellWord, visibleText } from '#lib/command-line';
import {
  actionsOf,
  actionText,
  type Answer,
  Conversation,
  NoMessagesError,
  type ConversationParts,
  type Decision,
  type Happening,
  type Question,
  questionText,
  renderDecisions,
  resumeAll,
  resumeOf,
  type Saying,
} from '#lib/conversation';
import { errorText } from '#lib/errors';
import { EXIT } from '#lib/lifecycle';
import { isUuid } from '#lib/resources';
import { systemClock } from '#lib/time';
import { costText, latencyText, type ReadRun } from '#lib/rest-client';
import { isJsonObject, type JsonObject } from '#lib/json';
import { valueOf } from '../check/tried-agent.js';
import { CommandError } from '../command-error.js';
import { isDocument, type OutputFormat, print, renderDocument } from '../output/print-items.js';
import { thisProgram } from '../this-program.js';
import { type Agent, type AgentFlags, assistantOf, openAgent } from './agent-client.js';

export interface ChatFlags extends AgentFlags {
  readonly thread: string | undefined;
  readonly graph: string | undefined;
  readonly once: string | undefined;
  readonly input: string | undefined;
  readonly output: OutputFormat;
}

const HELP = 'Type a message; /new begins another thread, Ctrl-C stops an answer, Ctrl-D or /quit ends.';

/** `agentplane chat NAME`. */
export async function chat(name: string | undefined, flags: ChatFlags): Promise<number> {
  const { output } = flags;
  const once = sayingOf(flags);
  if (once === undefined && output.kind !== 'table')
    throw new CommandError('usage', '--output prints one answer: give the message with --once');
  const agent = await openAgent(name, flags);
  const assistantId = await assistantOf(agent, flags.graph);
  const open = async (thread?: string): Promise<Conversation> =>
    new Conversation({
      client: agent.client,
      findRun: findRunIn(agent),
      onDisconnect: 'cancel',
      clock: systemClock,
      assistantId,
      threadId: await threadOf(agent, thread),
    });
  const conversation = await open(flags.thread);
  try {
    return once === undefined
      ? await talk(agent, conversation, open)
      : await sayOnce(conversation, once, output);
  } catch (error) {
    if (!(error instanceof NoMessagesError)) throw error;
    const words = [
      `${thisProgram()} chat`,
      agent.words,
      ...(flags.graph === undefined ? [] : ['--graph', shellWord(flags.graph)]),
      '--input',
      shellWord(JSON.stringify(valueOf(error.schema))),
    ];
    throw new CommandError('usage', `${error.message}; send it one with ${words.join(' ')}`);
  }
}

/** The one message of `--once` or `--input`; undefined for a conversation. */
function sayingOf({
  once,
  input,
}: ChatFlags): { readonly text: string } | { readonly input: JsonObject } | undefined {
  if (input === undefined) return once === undefined ? undefined : { text: once };
  if (once !== undefined)
    throw new CommandError('usage', '--once and --input are two messages: give one of them');
  const value = resumeOf(input);
  if (isJsonObject(value)) return { input: value };
  throw new CommandError(
    'usage',
    `--input must be a JSON object with the fields of the graph's input: ${input}`,
  );
}

function findRunIn({ rest }: Agent): ConversationParts['findRun'] {
  return rest && ((runId) => rest.request<ReadRun>('GET', `/runs/${runId}`).catch(() => undefined));
}

async function threadOf({ client }: Agent, thread: string | undefined): Promise<string> {
  if (thread === undefined) return (await client.threads.create()).thread_id;
  if (!isUuid(thread))
    throw new CommandError('usage', `${thread} is no id of a thread: "agentplane threads list" shows ids`);
  return (await client.threads.get(thread)).thread_id;
}

async function sayOnce(
  conversation: Conversation,
  given: NonNullable<ReturnType<typeof sayingOf>>,
  output: OutputFormat,
): Promise<number> {
  // a thread that waits takes the text as its answer
  const isAnswer = 'text' in given && (await conversation.waitsWith()).length > 0;
  const saying: Saying = isAnswer ? { resume: resumeOf(given.text) } : given;
  const { signal } = new AbortController();
  const answer = await conversation.say(saying, () => undefined, signal);
  const code = answer.status === 'error' ? EXIT.failed : EXIT.ok;
  if (isDocument(output)) process.stdout.write(await renderDocument(output, answer));
  else if (output.kind === 'name') print(`${answer.thread_id}\n`);
  else {
    if (answer.answer !== '') print(`${visibleText(answer.answer)}\n`);
    for (const { value } of answer.interrupts) print(`${visibleText(questionText(value))}\n`);
    process.stderr.write(`${footOf(answer)}; thread ${answer.thread_id}\n`);
  }
  return code;
}

/** Time, tokens, cost and the command that opens the trace. */
function footOf({ error, seconds, total_tokens: tokens, total_cost: cost, trace_id: trace }: Answer): string {
  const price = costText(cost);
  const parts = [
    ...(error === null ? [] : [`failed: ${cellText(error)}`]),
    latencyText(seconds),
    ...(tokens === null || tokens === 0 ? [] : [`${tokens} tokens`]),
    ...(price === '' || price === '0' ? [] : [`$${price}`]),
    ...(trace === null ? [] : [`${thisProgram()} traces show ${trace}`]),
  ];
  return parts.join(' · ');
}

/** A conversation on the terminal until its input ends. */
async function talk(
  agent: Agent,
  first: Conversation,
  open: (thread?: string) => Promise<Conversation>,
): Promise<number> {
  let conversation = first;
  let asked = await conversation.waitsWith();
  if (asked.length === 0) await conversation.requireMessages();
  const screen = new ChatScreen();
  process.stderr.write(`${HELP}\n${thisProgram()} chat ${agent.words} --thread ${first.threadId}\n`);
  for (;;) {
    const saying = asked.length > 0 ? await screen.answerTo(asked) : await screen.readMessage();
    if (saying === undefined) return screen.close();
    if ('text' in saying && saying.text === '/new') {
      conversation = await open();
      process.stderr.write(`thread ${conversation.threadId}\n`);
      continue;
    }
    asked = await screen.show(conversation, saying);
  }
}

/** The terminal of a conversation: a line to type, and what the agent does. */
class ChatScreen {
  readonly #lines = createInterface({ input: process.stdin, output: process.stderr });
  // lines that come before they are asked for, as of a pipe, stay in it
  readonly #typed = this.#lines[Symbol.asyncIterator]();
  #isInLine = false;
  #answering: AbortController | undefined;

  constructor() {
    this.#lines.on('SIGINT', () => {
      if (this.#answering) this.#answering.abort(new Error('stopped'));
      else this.#lines.close();
    });
  }

  close(): number {
    this.#lines.close();
    return EXIT.ok;
  }

  readonly #ask: Ask = async (question) => {
    process.stderr.write(question);
    this.#lines.setPrompt(question);
    const { value, done } = (await this.#typed.next()) as { value?: string; done?: boolean };
    return done ? undefined : value;
  };

  async readMessage(): Promise<Saying | undefined> {
    for (;;) {
      const text = (await this.#ask('> '))?.trim();
      if (text === undefined || text === '/quit') return undefined;
      if (text !== '') return { text };
    }
  }

  /** Answers to everything that the agent asks; one alone is sent as it is, several by the ids of the questions. */
  async answerTo(asked: readonly Question[]): Promise<Saying | undefined> {
    const answers: unknown[] = [];
    for (const { value } of asked) {
      const answer = await fillForm(value, this.#ask, (text) => this.#line(visibleText(text)));
      if (answer === undefined) return undefined;
      answers.push(answer);
    }
    return { resume: resumeAll(asked, answers) };
  }

  /** Says something and shows what comes. @returns what the agent asks then */
  async show(conversation: Conversation, saying: Saying): Promise<readonly Question[]> {
    this.#answering = new AbortController();
    const { signal } = this.#answering;
    try {
      const answer = await conversation.say(saying, (what) => this.#happens(what), signal);
      this.#line(`— ${footOf(answer)}`);
      return answer.interrupts;
    } catch (error) {
      this.#line(signal.aborted ? '— stopped' : `— ${visibleText(errorText(error))}`);
      return [];
    } finally {
      this.#answering = undefined;
    }
  }

  #happens(what: Happening): void {
    if (what.kind === 'text') {
      process.stdout.write(visibleText(what.text));
      this.#isInLine = !what.text.endsWith('\n');
      return;
    }
    const width = Math.max(20, process.stdout.columns || 100);
    const text = what.kind === 'tool' ? `· ${what.name} ${JSON.stringify(what.args)}` : `  → ${what.text}`;
    const line = cellText(text);
    this.#line(line.length > width ? `${line.slice(0, width - 1)}…` : line);
  }

  /** A line of its own. */
  #line(text: string): void {
    process.stdout.write(`${this.#isInLine ? '\n' : ''}${text}\n`);
    this.#isInLine = false;
  }
}

/** Asks one question; undefined when the input has ended. */
export type Ask = (question: string) => Promise<string | undefined>;

/** The answer to what an agent asks: a decision on each call of a tool, or a line of text. */
export async function fillForm(value: unknown, ask: Ask, show: (text: string) => void): Promise<unknown> {
  const actions = actionsOf(value);
  if (actions.length === 0) {
    show(questionText(value));
    const text = await ask('answer> ');
    return text === undefined ? undefined : resumeOf(text);
  }
  const decisions: Decision[] = [];
  for (const action of actions) {
    show(actionText(action));
    const decision = await decide(ask);
    if (decision === undefined) return undefined;
    decisions.push(decision);
  }
  return renderDecisions(value, decisions);
}

async function decide(ask: Ask): Promise<Decision | undefined> {
  for (;;) {
    const word = (await ask('(a)pprove, (r)eject, (e)dit> '))?.trim().toLowerCase();
    if (word === undefined) return undefined;
    if (word === 'a' || word === 'approve') return { kind: 'approve' };
    if (word === 'r' || word === 'reject') return { kind: 'reject', reason: (await ask('reason> ')) ?? '' };
    if (word !== 'e' && word !== 'edit') continue;
    const args = resumeOf((await ask('arguments as JSON> ')) ?? '');
    if (isJsonObject(args)) return { kind: 'edit', args };
  }
}
