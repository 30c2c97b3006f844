import { describe, it } from '@jest/globals';
import { type OwnConnection, openConnection } from '#lib/postgres';
import { FakeClock, testPostgres, waitFor } from '#lib/testing';
import { VacuumPace } from './vacuum-pace.js';

describe('VacuumPace', () => {
  const postgres = testPostgres();

  it('waits longer with many databases, between half a minute and five', async () => {
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
      const look = (secondsOfDatabase: number): Promise<void> =>
        new VacuumPace({ clock, change, secondsOfDatabase }).look(connection);
      await look(1_000);
      await waitFor(async () => (await naptime()) === 300, { what: 'five minutes' });
      await look(0);
      await waitFor(async () => (await naptime()) === 30, { what: 'half a minute' });
    } finally {
      await connection.end();
    }
  });
});
