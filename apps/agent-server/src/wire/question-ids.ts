import { itemsOf, membersOf, parseShort, type JsonWalk } from '#lib/json';

/** An id is a hash in hexadecimal digits. */
const MAX_ID_CHARS = 1_000;

/** Ids of the questions in the interrupts of a thread: lists of `{id, value}` by the tasks that ask. */
export function* questionIds(interrupts: string): JsonWalk<string[]> {
  const ids: string[] = [];
  for (const task of membersOf(interrupts)) {
    if (!task) {
      yield undefined;
      continue;
    }
    for (const question of itemsOf(interrupts, task.start)) {
      if (question) ids.push(...(yield* idOf(interrupts, question.start)));
      else yield undefined;
    }
  }
  return ids;
}

function* idOf(json: string, start: number): JsonWalk<string[]> {
  const ids: string[] = [];
  for (const member of membersOf(json, start)) {
    if (!member) yield undefined;
    else if (member.name === 'id' && member.end - member.start <= MAX_ID_CHARS) {
      const id: unknown = parseShort(json.slice(member.start, member.end), MAX_ID_CHARS);
      if (typeof id === 'string') ids.push(id);
    }
  }
  return ids;
}
