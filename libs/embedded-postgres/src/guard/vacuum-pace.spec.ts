import { describe, it } from '@jest/globals';
import { type OwnConnection, openConnection } from '#lib/postgres';
import { FakeClock, testPostgres, waitFor } from '#lib/testing';
import { VacuumPace } from './vacuum-pace.js';

describe('VacuumPace', () => {
  const postgres = testPostgres();

  it('waits half a minute with few databases, and longer with many', async () => {
    const { uri } = await postgres.freshDatabase();
    const open = (): Promise<OwnConnection> => openConnection({ uri, applicationName: 'test' });
    const connection = await open();
    const clock = new FakeClock();
    const change = async (work: (own: OwnConnection) => Promise<void>): Promise<boolean> => {
      const own = await open();
      await work(own).finally(() => own.end());
      return true;
    };
    const naptime = async (): Promise<number> => {
      const { rows } = await connection.query<{ seconds: number }>(
        "SELECT setting::int AS seconds FROM pg_settings WHERE name = 'autovacuum_naptime'",
      );
      return rows[0]?.seconds ?? 0;
    };
    try {
      await new VacuumPace({ clock, change }).look(connection);
      await waitFor(async () => (await naptime()) === 30, { what: 'half a minute' });
      const pace = new VacuumPace({ clock, change, secondsOfDatabase: 100 });
      await pace.look(connection);
      await waitFor(async () => (await naptime()) >= 400, { what: 'a hundred seconds for each database' });
    } finally {
      await connection.end();
    }
  });
});
