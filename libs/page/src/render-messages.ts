import type { Message, Speaker } from '#lib/conversation';
import { escapeHtml } from './escape-html.js';
import { Lexer, type MarkedToken, type Token, Tokenizer, type Tokens } from 'marked';
import { systemClock } from '#lib/time';

/** Depth of lists and quotes that are written. */
const DEEPEST = 12;
/** Nesting that the lexer would follow with its stack, of signs that begin a quote or a list. */
const DEEP_LINE = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])){20}/m;

/**
 * Letters that the lexer may look through for the ends of emphasis. It does so for each of its signs, to the end of the
 * paragraph: 10,000 letters that are signs for the most part take half a second, and a common text a few milliseconds.
 */
const MAX_LOOKED_THROUGH = 500_000;

/** @throws RangeError for a text with too many signs of emphasis */
class BoundedTokenizer extends Tokenizer {
  #left = MAX_LOOKED_THROUGH;

  override emStrong(...given: Parameters<Tokenizer['emStrong']>): Tokens.Em | Tokens.Strong | undefined {
    this.#count(given[0]);
    return super.emStrong(...given);
  }

  override del(...given: Parameters<Tokenizer['del']>): Tokens.Del | undefined {
    this.#count(given[0]);
    return super.del(...given);
  }

  #count(text: string): void {
    if (/^[*_~]/.test(text)) this.#left -= text.length;
    if (this.#left < 0) throw new RangeError('the text has too many signs of emphasis');
  }
}

/**
 * Markdown as HTML. Only the elements that are written here can come of it: HTML in the text is shown as text,
 * pictures as their descriptions, links lead to http(s) alone.
 * @returns undefined for a text that is nested too deeply, or has too many signs of emphasis, to be read
 */
export function renderMarkdown(text: string): string | undefined {
  if (DEEP_LINE.test(text)) return undefined;
  try {
    return blocks(Lexer.lex(text, { gfm: true, breaks: true, tokenizer: new BoundedTokenizer() }), 0);
  } catch (error) {
    // also for a text that is nested deeper than the stack
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function blocks(tokens: readonly Token[], depth: number): string {
  return tokens.map((token) => block(token as MarkedToken, depth)).join('');
}

function block(token: MarkedToken, depth: number): string {
  if (depth > DEEPEST) return `<p>${escapeHtml(token.raw)}</p>`;
  switch (token.type) {
    case 'space':
    case 'def':
      return '';
    case 'hr':
      return '<hr>';
    case 'code':
      return `<pre tabindex="0"><code>${escapeHtml(token.text)}</code></pre>`;
    // a page has headings of its own
    case 'heading':
      return `<p class="heading">${inline(token.tokens ?? [], depth)}</p>`;
    case 'paragraph':
      return `<p>${inline(token.tokens ?? [], depth)}</p>`;
    case 'blockquote':
      return `<blockquote>${blocks(token.tokens ?? [], depth + 1)}</blockquote>`;
    case 'list':
      return list(token, depth);
    case 'table':
      return table(token, depth);
    case 'text':
      return 'tokens' in token && token.tokens ? inline(token.tokens, depth) : escapeHtml(token.raw);
    case 'br':
    case 'checkbox':
    case 'codespan':
    case 'del':
    case 'em':
    case 'escape':
    case 'html':
    case 'image':
    case 'link':
    case 'list_item':
    case 'strong':
    default:
      return `<p>${escapeHtml(token.raw)}</p>`;
  }
}

function list({ ordered, start, items }: Tokens.List, depth: number): string {
  const [tag, from] = ordered ? ['ol', start === 1 ? '' : ` start="${Number(start)}"`] : ['ul', ''];
  const written = items.map(({ tokens, task, checked }) => {
    const box = task ? (checked ? '☑ ' : '☐ ') : '';
    return `<li>${box}${blocks(
      tokens.filter(({ type }) => type !== 'checkbox'),
      depth + 1,
    )}</li>`;
  });
  return `<${tag}${from}>${written.join('')}</${tag}>`;
}

function table({ header, rows }: Tokens.Table, depth: number): string {
  const cells = (row: readonly Tokens.TableCell[], tag: 'th' | 'td'): string =>
    `<tr>${row.map(({ tokens }) => `<${tag}>${inline(tokens, depth)}</${tag}>`).join('')}</tr>`;
  return `<div class="wide" tabindex="0"><table><thead>${cells(header, 'th')}</thead><tbody>${rows.map((row) => cells(row, 'td')).join('')}</tbody></table></div>`;
}

function inline(tokens: readonly Token[], depth: number): string {
  return tokens.map((token) => span(token as MarkedToken, depth)).join('');
}

function span(token: MarkedToken, depth: number): string {
  if (depth > DEEPEST) return escapeHtml(token.raw);
  const inner = (): string =>
    'tokens' in token && token.tokens ? inline(token.tokens, depth + 1) : escapeHtml(token.raw);
  switch (token.type) {
    case 'strong':
      return `<strong>${inner()}</strong>`;
    case 'em':
      return `<em>${inner()}</em>`;
    case 'del':
      return `<del>${inner()}</del>`;
    case 'codespan':
      return `<code>${escapeHtml(token.text)}</code>`;
    case 'br':
      return '<br>';
    case 'escape':
      return escapeHtml(token.text);
    case 'link':
      return link(token, inner());
    case 'image':
      return escapeHtml(`[image: ${token.text || 'without a description'}]`);
    case 'text':
      return inner();
    case 'blockquote':
    case 'checkbox':
    case 'code':
    case 'def':
    case 'heading':
    case 'hr':
    case 'html':
    case 'list':
    case 'list_item':
    case 'paragraph':
    case 'space':
    case 'table':
    default:
      return escapeHtml(token.raw);
  }
}

function link({ href, raw }: Tokens.Link, text: string): string {
  if (!URL.canParse(href)) return escapeHtml(raw);
  const { protocol, href: address } = new URL(href);
  if (protocol !== 'http:' && protocol !== 'https:') return escapeHtml(raw);
  return `<a href="${escapeHtml(address)}" rel="noopener noreferrer nofollow">${text}</a>`;
}

/** Characters of one message that are read as Markdown, and of all messages of a page. */
const MAX_MARKDOWN = 10_000;
const MAX_MARKDOWN_OF_PAGE = 100_000;
/** Milliseconds for the Markdown of a page; the message in which they end is read. */
const MAX_MS_OF_PAGE = 250;
/** Characters of one message that are shown. */
const MAX_SHOWN = 20_000;

/** Markdown that a page may still read: reading holds up other requests. The rest is shown as plain text. */
export class TextBudget {
  #left = MAX_MARKDOWN_OF_PAGE;
  #leftMs = MAX_MS_OF_PAGE;

  /** @returns undefined for a text that is to be shown as it is */
  render(text: string): string | undefined {
    if (text.length > MAX_MARKDOWN || text.length > this.#left || this.#leftMs <= 0) return undefined;
    const beganMs = systemClock.monotonicMs();
    const html = renderMarkdown(text);
    this.#left -= text.length;
    this.#leftMs -= systemClock.monotonicMs() - beganMs;
    return html;
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
  return budget.render(text) ?? plain(text);
}

function plain(text: string): string {
  return text.trim() === '' ? '' : `<pre tabindex="0">${escapeHtml(text)}</pre>`;
}

function argsText(args: unknown): string {
  const text = typeof args === 'string' ? args : JSON.stringify(args ?? {});
  return text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text;
}
