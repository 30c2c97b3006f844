import { setImmediate } from 'node:timers/promises';

/** `@Header` of answers that are JSON text already. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** JSON texts as they are stored, by the members of an answer that they are; undefined is null. */
type StoredMembers = Readonly<Record<string, string | undefined>>;

/** JSON text of an object with members that are stored as such: parsed they would take twenty times their length. */
export function jsonWith(answer: object, stored: StoredMembers): string {
  const members = Object.entries(stored).map(([name, text]) => `${JSON.stringify(name)}:${text ?? 'null'}`);
  return `${JSON.stringify(answer).slice(0, -1)},${members.join(',')}}`;
}

/** JSON text of a list, one item per turn of the event loop. @param render one item as JSON text */
export async function jsonListOf<T>(items: readonly T[], render: (item: T) => string): Promise<string> {
  const texts: string[] = [];
  for (const item of items) {
    if (texts.length > 0) await setImmediate();
    texts.push(render(item));
  }
  return `[${texts.join(',')}]`;
}
