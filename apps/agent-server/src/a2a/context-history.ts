import { isJsonObject } from '#lib/json';
import { isOfModel } from './answer-text.js';
import { contentParts } from './build-task.js';
import type { Message, TaskName } from './task.js';

/** Messages of people and models in a state, as a history of their context. */
export function historyOfState(messages: unknown, { contextId }: TaskName): readonly Message[] {
  const given: unknown[] = Array.isArray(messages) ? messages : [];
  return given.flatMap((message, at): Message[] => {
    if (!isJsonObject(message)) return [];
    const { id, content } = message;
    const isOfPerson = ['human', 'user'].includes(String(message['type'] ?? message['role']));
    if (!isOfPerson && !isOfModel(message)) return [];
    const messageId = typeof id === 'string' ? id : `message-${at}`;
    return [{ messageId, role: isOfPerson ? 'user' : 'agent', parts: contentParts(content, []), contextId }];
  });
}
