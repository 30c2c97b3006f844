import {
  escapeHtml,
  renderBeginForm,
  renderDocument,
  renderTalk,
  renderThreadState,
  renderThreadTable,
  renderTime,
} from '#lib/page';
import { ageText } from '#lib/rest-client';
import type { OpenThread, ThreadList } from './agent-calls.js';
import type { PageReader } from './page-readers.js';
import { renderTrail } from './trace-lists.js';

/** Agents take keys that may do everything in the workspace, as this route of REST does. */
export const TALK = 'POST /v2/deployments/{deployment_id}/restart';

/** Threads of an agent, and the button that begins one. @param path of the threads */
export function renderThreads(list: ThreadList, path: string, now: Date): string {
  if (list.kind === 'unreachable') return `<p class="error" role="alert">${escapeHtml(list.problem)}</p>`;
  return `${renderBeginForm(list.assistants, path, 'Talk to the agent')}
${renderThreadTable(list.threads, path, (time) => ageText(time, now))}`;
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
  { thread, values, questions, deployment, projectId, problem, text }: ShownThread,
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
  const assistant: unknown = thread.metadata?.['assistant_id'];
  const sameAssistant =
    typeof assistant === 'string'
      ? `<input type="hidden" name="assistant" value="${escapeHtml(assistant)}">`
      : '';
  const graph: unknown = thread.metadata?.['graph_id'];
  const shownGraph =
    typeof graph === 'string' ? `<div><dt>graph</dt> <dd>${escapeHtml(graph)}</dd></div>` : '';
  const action = `${threads}/${encodeURIComponent(id)}`;
  const main = `${renderTrail(['Deployments', pathOf('deployments')], [deployment.name, path])}<h1>Thread ${escapeHtml(id.slice(0, 8))}</h1>
<dl class="facts"><div><dt>state</dt> <dd>${renderThreadState(thread.status)}</dd></div><div><dt>changed</dt> <dd>${renderTime(thread.updated_at)}</dd></div>${shownGraph}<div><dt>thread</dt> <dd>${escapeHtml(id)}</dd></div></dl>
<div class="actions">${traces}<form method="post" action="${escapeHtml(threads)}">${sameAssistant}<button class="plain">New thread</button></form></div>
${renderTalk({ thread: { ...thread, values }, questions, action, problem, text })}`;
  return renderDocument(`${deployment.name}: thread`, main, navigation);
}
