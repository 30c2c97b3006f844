import type { Message, Speaker } from '#lib/conversation';
import { escapeHtml } from './escape-html.js';
import { renderMarkdown } from './markdown.js';

/** Characters of one message that are read as Markdown, and of all messages of a page. */
const MAX_MARKDOWN = 10_000;
const MAX_MARKDOWN_OF_PAGE = 100_000;
/** Characters of one message that are shown. */
const MAX_SHOWN = 20_000;

/** Markdown that a page may still read: reading holds up other requests. The rest is shown as plain text. */
export class TextBudget {
  #left = MAX_MARKDOWN_OF_PAGE;

  take(characters: number): boolean {
    if (characters > MAX_MARKDOWN || characters > this.#left) return false;
    this.#left -= characters;
    return true;
  }
}

const LABELS: Readonly<Record<Speaker, string>> = {
  user: 'User',
  agent: 'Agent',
  system: 'System',
  tool: 'Tool',
  other: 'Message',
};

/** Messages as a list, in their order. */
export function renderMessages(messages: readonly Message[], budget: TextBudget): string {
  return `<ol class="chat">${messages.map((message) => renderMessage(message, budget)).join('\n')}</ol>`;
}

function renderMessage({ by, name, text, calls, parts }: Message, budget: TextBudget): string {
  const label = by === 'tool' && name !== undefined ? `Tool ${name}` : LABELS[by];
  const shown = text.slice(0, MAX_SHOWN);
  const body = by === 'tool' ? plain(shown) : spoken(shown, budget);
  const called = calls.map(
    (call) => `<p class="call">calls <code>${escapeHtml(`${call.name} ${argsText(call.args)}`)}</code></p>`,
  );
  const others = parts.map((kind) => `<p class="quiet">[${escapeHtml(kind)}]</p>`);
  const cut =
    text.length > MAX_SHOWN ? `<p class="quiet">the first ${MAX_SHOWN} of ${text.length} characters</p>` : '';
  return `<li class="message ${by}"><p class="speaker">${escapeHtml(label)}</p><div class="text">${body}${cut}${called.join('')}${others.join('')}</div></li>`;
}

function spoken(text: string, budget: TextBudget): string {
  if (text.trim() === '') return '';
  return (budget.take(text.length) ? renderMarkdown(text) : undefined) ?? plain(text);
}

function plain(text: string): string {
  return text.trim() === '' ? '' : `<pre tabindex="0">${escapeHtml(text)}</pre>`;
}

function argsText(args: unknown): string {
  const text = typeof args === 'string' ? args : JSON.stringify(args ?? {});
  return text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text;
}
