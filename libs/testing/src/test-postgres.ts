import { afterAll, beforeAll } from '@jest/globals';
import { PostgresServer, type Prepare } from './postgres-server.js';
import { stopWithProcess } from './shared-server.js';

export interface FreshDatabase {
  /** Connection URI of the superuser. */
  readonly uri: string;
  drop(): Promise<void>;
}

export interface TestPostgres {
  /** URI of the superuser's own database. Usable once `beforeAll` has run. */
  readonly uri: string;
  /**
   * A new database of its own for each call.
   * @param prepare run once in a template (for example migrations); later calls with the same function copy it
   */
  freshDatabase(prepare?: Prepare): Promise<FreshDatabase>;
}

export interface TestPostgresOptions {
  /** True for tests that stop, restart or break the server: it is started for them alone. */
  readonly ownServer?: boolean;
  /** Variables of an own server, beside what it needs. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The server that the files of this process share, while it is up. */
let shared: Promise<PostgresServer> | undefined;
/** Users of it in the file that runs; the last one puts it back to how it was. */
let users = 0;

/**
 * A Postgres for the test file that calls this (at its top or in a `describe`), with databases that are gone after it.
 * The files of a process share one server, which is put back to how it was after each: sessions are ended; databases,
 * roles and settings that a file made are removed. A fresh database takes some 20 ms.
 */
export function testPostgres(options: TestPostgresOptions = {}): TestPostgres {
  const isOwn = options.ownServer === true;
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    server = isOwn ? await PostgresServer.start(options.environment) : await useShared();
  });
  afterAll(async () => {
    const used = server;
    server = undefined;
    if (isOwn) await used?.stop();
    else if (used && --users === 0) await used.reset();
  });

  function running(): PostgresServer {
    if (!server) throw new Error('the test Postgres is up only inside tests and hooks');
    return server;
  }

  return {
    get uri() {
      return running().uri();
    },
    async freshDatabase(prepare) {
      const made = running();
      const name = await made.createDatabase(prepare);
      return { uri: made.uri(name), drop: () => made.dropDatabase(name) };
    },
  };
}

async function useShared(): Promise<PostgresServer> {
  // one that did not start, or that a test ended, is replaced
  const isUp = await shared?.then(
    (server) => server.isUp(),
    () => false,
  );
  if (!shared || !isUp) {
    const started = PostgresServer.start();
    shared = started;
    stopWithProcess(() =>
      started.then(
        (server) => server.stop(),
        () => undefined,
      ),
    );
  }
  users++;
  return await shared;
}
