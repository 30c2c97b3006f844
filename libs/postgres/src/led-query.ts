import pg from 'pg';

/**
 * Methods of a query that the driver calls. Its types leave this out: `in-transaction.spec.ts` fails when a
 * version changes it.
 */
interface Driven {
  submit: (connection: pg.Connection) => unknown;
  callback?: (error: Error | null, result: unknown) => void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: pg.Connection): void;
}

/**
 * A query that is sent in one round trip with statements before it: each round trip costs both sides a write
 * and a wake-up, which for a small statement is more than its work. The server performs them in order; if one
 * fails it leaves out the rest, and the query fails with its error.
 * @param given a named statement only once it is prepared
 * @param lead statements without parameters, whose answers are not needed
 */
export function ledQuery(
  given: string | pg.QueryConfig,
  values: unknown[] | undefined,
  lead: readonly string[],
): { readonly query: pg.Query; readonly answer: Promise<unknown> } {
  const config = typeof given === 'string' ? { text: given } : given;
  // without values the driver would use the other protocol, in which nothing can be sent ahead
  const extended: pg.QueryConfig & { readonly queryMode: string } = { ...config, queryMode: 'extended' };
  const query = new pg.Query(extended, values);
  const driven = query as pg.Query & Driven;
  const [submit, complete, takeRow] = [
    driven.submit.bind(query),
    driven.handleCommandComplete.bind(query),
    driven.handleDataRow.bind(query),
  ];
  let left = lead.length;
  driven.submit = (connection) => {
    const { stream } = connection;
    stream.cork();
    try {
      for (const text of lead) {
        connection.parse({ name: '', text, types: [] }, true);
        connection.bind({}, true);
        connection.execute({}, true);
      }
      return submit(connection);
    } finally {
      stream.uncork();
    }
  };
  driven.handleDataRow = (message) => {
    if (left === 0) takeRow(message);
  };
  driven.handleCommandComplete = (message, connection) => {
    if (left > 0) left--;
    else complete(message, connection);
  };
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  driven.callback = (error, result) => (error ? reject(error) : resolve(result));
  return { query, answer: promise };
}
