import { isJsonObject } from '#lib/json';
import { readMessages } from './read-messages.js';

/** Names of values that hold text where there are no messages. */
const TEXTS: readonly string[] = [
  'input',
  'resume',
  'question',
  'query',
  'text',
  'content',
  'output',
  'answer',
  'result',
];
/** Depth at which a value is no longer searched for text. */
const DEEPEST = 4;

function anyText(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value;
  if (!isJsonObject(value) || depth > DEEPEST) return '';
  for (const name of TEXTS) {
    const text = anyText(value[name], depth + 1);
    if (text !== '') return text;
  }
  return '';
}

function compact(value: unknown): string {
  const isEmpty =
    value === undefined || value === null || (isJsonObject(value) && Object.keys(value).length === 0);
  return isEmpty ? '' : JSON.stringify(value);
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0]?.trim() ?? '';
}

/** The first line of what a person said last; without messages the text, or the values themselves in one line. */
export function askedLine(inputs: unknown): string {
  const said = readMessages(inputs).findLast(({ by, text }) => by === 'user' && text !== '');
  return firstLine(said?.text ?? anyText(inputs)) || compact(inputs);
}

/** The first line of the last answer of an agent; a call of a tool as `calls NAME` where the agent has not answered yet. */
export function answerLine(outputs: unknown): string {
  const messages = readMessages(outputs);
  if (messages.length === 0) return firstLine(anyText(outputs)) || compact(outputs);
  const since = messages.slice(messages.findLastIndex(({ by }) => by === 'user') + 1);
  const said = since.findLast(({ by, text, calls }) => by === 'agent' && (text !== '' || calls.length > 0));
  return firstLine(said?.text ?? '') || (said?.calls ?? []).map(({ name }) => `calls ${name}`).join(', ');
}
