import { afterAll, beforeAll } from '@jest/globals';
import { testPostgres } from '#lib/testing';
import { prepareDatabase } from './store-fixture.js';
import { type ServerOptions, ServerProcess } from './start-server.js';

/** Members are usable inside tests and hooks. */
export interface TestServer extends Pick<ServerProcess, 'child' | 'port' | 'url' | 'log' | 'client'> {
  /** Connection URI of its database. */
  readonly uri: string;
}

/**
 * A server on a database of its own for the test file that calls this: up before the tests, stopped after them. Hooks that
 * the caller registers later find it running.
 */
export function testServer(options: Omit<ServerOptions, 'uri'> = {}): TestServer {
  let running: ServerProcess | undefined;
  let databaseUri = '';
  // hooks run in the order of their registration: the server stops before its Postgres does
  afterAll(() => running?.stop('SIGKILL'));
  const postgres = testPostgres();
  beforeAll(async () => {
    ({ uri: databaseUri } = await postgres.freshDatabase(prepareDatabase));
    running = await ServerProcess.start({ uri: databaseUri, ...options });
  });

  const up = (): ServerProcess => {
    if (!running) throw new Error('the test server is up only inside tests and hooks');
    return running;
  };
  return {
    get uri() {
      return databaseUri;
    },
    get child() {
      return up().child;
    },
    get port() {
      return up().port;
    },
    get url() {
      return up().url;
    },
    get log() {
      return up().log;
    },
    client: (apiKey) => up().client(apiKey),
  };
}
