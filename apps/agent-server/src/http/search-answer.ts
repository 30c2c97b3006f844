import { setImmediate } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';

/** The requested fields of rows; without names, all. */
export function selected(
  rows: readonly object[],
  names: readonly string[] | null | undefined,
): readonly object[] {
  if (!names || names.length === 0) return rows;
  const wanted = new Set(names);
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => wanted.has(name))));
}

/** Sets headers with the number of rows, and the start of the next page when there is one. */
export function paginate(
  reply: FastifyReply,
  page: { readonly limit: number; readonly offset: number },
  found: number,
  total: number,
): void {
  reply.header('x-pagination-total', String(total));
  if (page.offset + found < total && found > 0)
    reply.header('x-pagination-next', String(page.offset + found));
}

/** Answers with a text that is JSON already. */
export function asJson(reply: FastifyReply, text: string | Buffer): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(text);
}

/**
 * Characters converted to bytes at once; a longer list converts each text in a separate iteration of the
 * event loop.
 */
const MAX_AT_ONCE_CHARS = 1_000_000;

/** JSON texts as a list. Tens of megabytes that are joined as text are copied three times at a stretch. */
export async function jsonList(texts: readonly string[]): Promise<string | Buffer> {
  if (texts.reduce((sum, { length }) => sum + length, 0) < MAX_AT_ONCE_CHARS) return `[${texts.join(',')}]`;
  const parts: Buffer[] = [];
  for (const text of texts) {
    parts.push(Buffer.from(parts.length === 0 ? '[' : ','), Buffer.from(text));
    await setImmediate();
  }
  return Buffer.concat([...parts, Buffer.from(']')]);
}
