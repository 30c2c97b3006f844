import { afterEach, describe, expect, it } from '@jest/globals';
import { errorText } from '#lib/errors';
import { openConnection } from './notifications.js';
import { postgresTrouble } from './postgres-trouble.js';
import { HostileServer, serverMessage } from './testdata/hostile-server.js';

const PATIENT_MS = 600_000;

describe('boundConnection', () => {
  let server: HostileServer | undefined;
  afterEach(() => server?.close());

  /** Outcome of a statement. */
  async function ask(bounds: { ms: number; bytes: number }): Promise<unknown> {
    const uri = (await server?.uri()) ?? '';
    const connection = await openConnection({ uri, applicationName: 'x', bounds });
    return await connection.query('SELECT 1').then(
      () => 'an answer',
      (error: unknown) => error,
    );
  }

  it('gives up a server that says nothing', async () => {
    server = new HostileServer(() => undefined);
    const error = await ask({ ms: 300, bytes: 1_000_000 });
    expect(errorText(error)).toContain('was not done within 0.3 s');
    expect(postgresTrouble(error)).toBe('unavailable');
  });

  it('gives up a server that never comes to an end', async () => {
    const notice = serverMessage('N', Buffer.from(`SNOTICE\0M${'x'.repeat(50_000)}\0\0`));
    server = new HostileServer((socket) => {
      const talk = (): void => {
        while (!socket.destroyed && socket.write(notice));
        if (!socket.destroyed) socket.once('drain', talk);
      };
      talk();
    });
    const error = await ask({ ms: PATIENT_MS, bytes: 1_000_000 });
    expect(errorText(error)).toContain('sent more than 1000000 bytes');
    expect(postgresTrouble(error)).toBe('unavailable');
  });
});
