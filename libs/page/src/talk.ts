import type { ServerResponse } from 'node:http';
import {
  actionsOf,
  actionText,
  answerLine,
  askedLine,
  type Decision,
  type Happening,
  type Question,
  questionText,
  readMessages,
  renderDecisions,
  resumeAll,
  resumeOf,
  type Saying,
} from '#lib/conversation';
import { errorText, PublicError } from '#lib/errors';
import { isJsonObject } from '#lib/json';
import { escapeHtml } from './escape-html.js';
import { renderState, renderTable } from './page-document.js';
import { renderMessages, TextBudget } from './render-messages.js';

/** Content type of an answer as it comes: a JSON value in each line. */
export const TALK_LINES = 'application/x-ndjson';

/** Letters of a line of the list of threads, and of a state that has no messages. */
const MAX_LINE = 120;
const MAX_STATE = 20_000;

/** Fields of the form of a talk, in the order in which they were shown. */
export interface TalkFields {
  readonly text?: string | undefined;
  readonly question?: readonly string[] | undefined;
  readonly answer?: readonly string[] | undefined;
  readonly decision?: readonly string[] | undefined;
  readonly reason?: readonly string[] | undefined;
  readonly args?: readonly string[] | undefined;
}

/**
 * Meaning of a form: a message to the agent, or an answer to each question that the thread waits with.
 * @throws PublicError conflict when the thread waits with other questions than were shown; bad_request
 */
export function sayingOf(form: TalkFields, questions: readonly Question[]): Saying {
  const { text, question = [], answer = [] } = form;
  const isSame = question.length === questions.length && questions.every(({ id }, at) => id === question[at]);
  if (!isSame)
    throw new PublicError(
      'conflict',
      'The agent asks something else by now. Load the page again and answer that.',
    );
  if (questions.length === 0) {
    if (text === undefined || text.trim() === '')
      throw new PublicError('bad_request', 'The message is empty. Write something to the agent.');
    return { text };
  }
  let decisions = 0;
  let answers = 0;
  const given = questions.map(({ value }) => {
    const actions = actionsOf(value);
    if (actions.length === 0) return resumeOf(answer[answers++] ?? '');
    return renderDecisions(
      value,
      actions.map(() => decisionOf(form, decisions++)),
    );
  });
  return { resume: resumeAll(questions, given) };
}

function decisionOf({ decision = [], reason = [], args = [] }: TalkFields, at: number): Decision {
  switch (decision[at]) {
    case 'approve':
      return { kind: 'approve' };
    case 'reject':
      return { kind: 'reject', reason: reason[at] ?? '' };
    case 'edit': {
      const edited = resumeOf(args[at] ?? '');
      if (isJsonObject(edited)) return { kind: 'edit', args: edited };
      throw new PublicError('bad_request', 'The arguments of an edited call must be a JSON object.');
    }
    case undefined:
    default:
      throw new PublicError(
        'bad_request',
        'The form has no decision on one of the calls. Load the page again.',
      );
  }
}

/** Bytes that a reader may leave unread; what comes beyond them is shown when the page is loaded again. */
const MAX_UNREAD = 1_048_576;

/** Sends what happens in a talk to the script of a page as it happens, and why it failed as the last line. */
export async function streamTalk(
  answer: ServerResponse,
  perform: (onHappening: (what: Happening) => void) => Promise<unknown>,
): Promise<void> {
  const send = (piece: object): void => {
    if (!answer.destroyed && answer.writableLength < MAX_UNREAD) answer.write(`${JSON.stringify(piece)}\n`);
  };
  answer.writeHead(200, { 'content-type': TALK_LINES, 'cache-control': 'no-store' });
  try {
    await perform((what) => send(pieceOf(what)));
  } catch (error) {
    send({ problem: errorText(error) });
  }
  answer.end();
}

function pieceOf(what: Happening): object {
  switch (what.kind) {
    case 'text':
      return { text: what.text };
    case 'tool':
      return { tool: `calls ${what.name}`, detail: JSON.stringify(what.args ?? {}) };
    case 'result':
      return { tool: `Tool ${what.name}`, detail: what.text };
    default:
      return what satisfies never;
  }
}

/** A graph or an assistant that a thread may be begun with. */
export interface ChosenAssistant {
  readonly assistant_id: string;
  readonly name: string;
  readonly graph_id: string;
}

/**
 * The form that begins a thread; of an agent with several graphs it asks with which.
 * @param path of the threads
 */
export function renderBeginForm(assistants: readonly ChosenAssistant[], path: string, label: string): string {
  const options = assistants.map(
    ({ assistant_id: id, name, graph_id: graph }) =>
      `<option value="${escapeHtml(id)}">${escapeHtml(name === graph ? name : `${name} (${graph})`)}</option>`,
  );
  const choice =
    options.length < 2 ? '' : `<label>Graph <select name="assistant">${options.join('')}</select></label>`;
  return `<form class="actions" method="post" action="${escapeHtml(path)}">${choice}<button>${escapeHtml(label)}</button></form>`;
}

/** A thread in a list. */
export interface ListedThread {
  readonly thread_id: string;
  readonly status: string;
  readonly values: unknown;
  readonly updated_at: string;
}

/**
 * Threads of an agent.
 * @param path of the threads
 * @param changedOf HTML of the time of a change
 */
export function renderThreadTable(
  threads: readonly ListedThread[],
  path: string,
  changedOf: (time: string) => string,
): string {
  if (threads.length === 0) return '<p>There are no threads yet.</p>';
  const rows = threads.map(({ thread_id: id, status, values, updated_at: at }) => [
    `<a href="${escapeHtml(`${path}/${encodeURIComponent(id)}`)}">${escapeHtml(id.slice(0, 8))}</a>`,
    renderThreadState(status),
    cut(askedLine(values)),
    cut(answerLine(values)),
    changedOf(at),
  ]);
  return renderTable('Threads', ['thread', 'state', 'asked', 'answered', 'changed'], rows);
}

function cut(line: string): string {
  return escapeHtml(line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line);
}

/** The state of a thread as a mark. */
export function renderThreadState(status: string): string {
  const tone = status === 'error' ? 'bad' : status === 'idle' ? 'good' : 'plain';
  const shown = status === 'interrupted' ? 'waits for an answer' : status;
  return renderState(shown, tone);
}

/** A thread as its page shows it. */
export interface ShownTalk {
  readonly thread: ListedThread;
  readonly questions: readonly Question[];
  /** Path of the thread, which takes the form. */
  readonly action: string;
  /** Words about a message that was not answered. */
  readonly problem?: string | undefined;
  /** Text of that message. */
  readonly text?: string | undefined;
}

/** Messages of a thread, and a box for the next one or a form for what the agent asks. */
export function renderTalk({ thread, questions, action, problem, text = '' }: ShownTalk): string {
  const said =
    problem === undefined ? '' : `<p class="problem error" role="alert">${escapeHtml(problem)}</p>`;
  const form = questions.length > 0 ? questionForm(questions, action) : messageForm(action, text);
  const busy = `<p class="quiet">The agent is at work. <a href="${escapeHtml(action)}">Load the page again</a> to see its answer.</p>`;
  return `${messagesOf(thread.values)}
<ol class="chat live" aria-live="polite" aria-label="New messages"></ol>
${said}${thread.status === 'busy' ? busy : form}`;
}

function messagesOf(values: unknown): string {
  const messages = readMessages(values);
  if (messages.length > 0) return renderMessages(messages, new TextBudget());
  if (!isJsonObject(values) || Object.keys(values).length === 0) return '';
  const state = JSON.stringify(values, undefined, 2);
  return `<pre tabindex="0">${escapeHtml(state.slice(0, MAX_STATE))}</pre>`;
}

function messageForm(action: string, text: string): string {
  return `<form class="talk" method="post" action="${escapeHtml(action)}">
<label>Message <textarea name="text" rows="3" required maxlength="10000">${escapeHtml(text)}</textarea></label>
<div class="actions"><button>Send</button><span class="quiet">Enter sends, Shift and Enter begins a line.</span></div>
</form>`;
}

/** A form for all that an agent waits with; its fields are read in the order of the questions. */
function questionForm(questions: readonly Question[], action: string): string {
  return `<form class="talk" method="post" action="${escapeHtml(action)}">
${questions.map(questionFields).join('\n')}
<div class="actions"><button>Answer</button></div>
</form>`;
}

function questionFields({ id, value }: Question): string {
  const actions = actionsOf(value);
  const hidden = `<input type="hidden" name="question" value="${escapeHtml(id)}">`;
  if (actions.length === 0)
    return `<fieldset>${hidden}<legend>The agent asks</legend><pre tabindex="0">${escapeHtml(questionText(value))}</pre>
<label>Answer, as text or JSON <textarea name="answer" rows="2" required maxlength="10000"></textarea></label></fieldset>`;
  return actions
    .map(
      (one, at) =>
        `<fieldset>${at === 0 ? hidden : ''}<legend>The agent wants to call ${escapeHtml(String(one['name']))}</legend><pre tabindex="0">${escapeHtml(actionText(one))}</pre>
<label>Decision <select name="decision"><option value="approve">approve</option><option value="reject">reject</option><option value="edit">edit</option></select></label>
<label>Reason, to reject <input name="reason" maxlength="2000"></label>
<label>Arguments, to edit <textarea name="args" rows="3" maxlength="10000" spellcheck="false">${escapeHtml(JSON.stringify(one['args'] ?? one['arguments'] ?? {}, undefined, 2))}</textarea></label></fieldset>`,
    )
    .join('\n');
}
