import { isJsonObject } from '#lib/json';

/** Content of a message: text, or blocks of which some are text. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  const blocks: unknown[] = Array.isArray(content) ? content : [];
  return blocks
    .map((block) =>
      isJsonObject(block) && block['type'] === 'text' && typeof block['text'] === 'string'
        ? block['text']
        : '',
    )
    .join('');
}

/** A message of the model, in any of the forms in which states hold them. */
export function isOfModel(message: unknown): boolean {
  if (!isJsonObject(message)) return false;
  const kind = message['type'] ?? message['role'];
  return kind === 'ai' || kind === 'assistant' || kind === 'AIMessageChunk';
}

/**
 * What a run answered: the last message of the model after the message that the run was given; undefined when there is
 * none.
 * @param values of the thread as the wire shows them
 * @param inputId id of that message; where it is not among the messages, all of them count
 */
export function answerText(values: unknown, inputId: string | undefined): string | undefined {
  const given = isJsonObject(values) ? values['messages'] : undefined;
  const messages: unknown[] = Array.isArray(given) ? given : [];
  const from = messages.findLastIndex((message) => isJsonObject(message) && message['id'] === inputId);
  const last = messages.slice(inputId === undefined ? 0 : from + 1).findLast(isOfModel);
  const text = isJsonObject(last) ? contentText(last['content']) : '';
  return text === '' ? undefined : text;
}
