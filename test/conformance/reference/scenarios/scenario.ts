import type { Answer, Recorder } from '../recorder.js';

/** Requests that both servers are sent alike. A scenario makes its own threads, and marks what it searches for. */
export interface Scenario {
  readonly name: string;
  readonly play: (to: Recorder) => Promise<void>;
}

export function scenariosOf(subject: string, plays: Readonly<Record<string, Scenario['play']>>): Scenario[] {
  return Object.entries(plays).map(([name, play]) => ({ name: `${subject}: ${name}`, play }));
}

/** A text of an answer, as an id that later steps need. */
export function textAt({ body }: Answer, key: string): string {
  const value = (body as Record<string, unknown> | undefined)?.[key];
  if (typeof value !== 'string') throw new Error(`${key} is missing in ${JSON.stringify(body)}`);
  return value;
}

/** A thread to go on with. @returns its path */
export async function freshThread(to: Recorder, body: unknown = {}): Promise<string> {
  return `/threads/${textAt(await to.prepare('POST', '/threads', body), 'thread_id')}`;
}

export const hello = { messages: [{ role: 'user', content: 'hello', id: 'asked' }] };
