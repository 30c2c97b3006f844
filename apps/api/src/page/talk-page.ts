import {
  actionsOf,
  actionText,
  answerLine,
  askedLine,
  type Question,
  questionText,
  readMessages,
} from '#lib/conversation';
import { isJsonObject } from '#lib/json';
import { escapeHtml, renderDocument, renderMessages, renderTable, renderTime, TextBudget } from '#lib/page';
import { ageText } from '#lib/rest-client';
import type { OpenThread, ThreadList } from './agent-calls.js';
import type { PageReader } from './page-readers.js';
import { renderState, renderTrail } from './trace-lists.js';

/** Agents take keys that may do everything in the workspace, as this route of REST does. */
export const TALK = 'POST /v2/deployments/{deployment_id}/restart';

/** Letters of a line of the list of threads, and of a state that has no messages. */
const MAX_LINE = 120;
const MAX_STATE = 20_000;

function cut(line: string): string {
  return escapeHtml(line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line);
}

function threadState(status: string): string {
  const tone = status === 'error' ? 'bad' : status === 'idle' ? 'good' : 'plain';
  return renderState(status === 'interrupted' ? 'waits for an answer' : status, tone);
}

/** Threads of an agent, and the button that begins one. @param path of the threads */
export function renderThreads(list: ThreadList, path: string, now: Date): string {
  if (list.kind === 'unreachable') return `<p class="error" role="alert">${escapeHtml(list.problem)}</p>`;
  const rows = list.threads.map(({ thread_id: id, status, values, updated_at: at }) => [
    `<a href="${escapeHtml(`${path}/${encodeURIComponent(id)}`)}">${escapeHtml(id.slice(0, 8))}</a>`,
    threadState(status),
    cut(askedLine(values)),
    cut(answerLine(values)),
    ageText(at, now),
  ]);
  const table = renderTable('Threads', ['thread', 'state', 'asked', 'answered', 'age'], rows);
  return `<form class="actions" method="post" action="${escapeHtml(path)}"><button>Talk to the agent</button></form>
${rows.length === 0 ? '<p>There are no threads yet.</p>' : table}`;
}

/** A thread, and where it belongs. */
export interface ShownThread extends OpenThread {
  readonly deployment: { readonly id: string; readonly name: string };
  /** Tracing project of the deployment, once it has one. */
  readonly projectId: string | undefined;
  /** Words about a message that was not answered. */
  readonly problem?: string | undefined;
  /** Text of that message. */
  readonly text?: string | undefined;
}

/** A thread as a talk: its messages, and a box for the next one or a form for what the agent asks. */
export function renderThread(
  { thread, values, questions, deployment, projectId, problem, text = '' }: ShownThread,
  { navigation, pathOf }: PageReader,
): Buffer {
  const id = thread.thread_id;
  const path = pathOf('deployments', deployment.id);
  const threads = `${path}/threads`;
  const filter = encodeURIComponent(`eq(thread_id, ${JSON.stringify(id)})`);
  const traces =
    projectId === undefined
      ? ''
      : `<a href="${escapeHtml(`${pathOf('projects', 'p', projectId)}?filter=${filter}`)}">traces of this thread</a>`;
  const said =
    problem === undefined ? '' : `<p class="problem error" role="alert">${escapeHtml(problem)}</p>`;
  const isBusy = thread.status === 'busy';
  const action = `${threads}/${encodeURIComponent(id)}`;
  const form = questions.length > 0 ? questionForm(questions, action) : messageForm(action, text);
  const busy = `<p class="quiet">The agent is at work. <a href="${escapeHtml(action)}">Load the page again</a> to see its answer.</p>`;
  const main = `${renderTrail(['Deployments', pathOf('deployments')], [deployment.name, path])}<h1>Thread ${escapeHtml(id.slice(0, 8))}</h1>
<dl class="facts"><div><dt>state</dt> <dd>${threadState(thread.status)}</dd></div><div><dt>changed</dt> <dd>${renderTime(thread.updated_at)}</dd></div><div><dt>thread</dt> <dd>${escapeHtml(id)}</dd></div></dl>
<div class="actions">${traces}<form method="post" action="${escapeHtml(threads)}"><button class="plain">New thread</button></form></div>
${messagesOf(values)}
<ol class="chat live" aria-live="polite" aria-label="New messages"></ol>
${said}${isBusy ? busy : form}`;
  return renderDocument(`${deployment.name}: thread`, main, navigation);
}

function messagesOf(values: OpenThread['values']): string {
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
