import type { FastifyReply } from 'fastify';

/** The fields of a row that were asked for; without names, all. */
export function selected(row: object, names: readonly string[] | null | undefined): object {
  if (!names || names.length === 0) return row;
  return Object.fromEntries(Object.entries(row).filter(([name]) => names.includes(name)));
}

/** Says in headers how many there are, and where the next page begins when there is one. */
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
export function asJson(reply: FastifyReply, text: string): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(text);
}
