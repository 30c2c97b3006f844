import { afterEach, describe, expect, it } from '@jest/globals';
import { errorText } from '#lib/errors';
import { openConnection } from './notifications.js';
import { postgresTrouble } from './postgres-trouble.js';
import { HostileServer, serverMessage } from './testdata/hostile-server.js';

describe('failUnreadableAnswers', () => {
  let server: HostileServer | undefined;
  afterEach(() => server?.close());

  it.each([
    ['a row that ends before its values', serverMessage('D', Buffer.from([0, 5]))],
    ['a description that ends before its columns', serverMessage('T', Buffer.from([0, 9, 65]))],
    ['a notification without a channel', serverMessage('A', Buffer.from([1]))],
    ['a login that does not exist', serverMessage('R', Buffer.from([0, 0, 0, 99]))],
    ['a message without a length', Buffer.from([68, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6])],
  ])('fails the statement that is answered with %s, and not the process', async (_what, answer) => {
    server = new HostileServer((socket) => socket.write(answer));
    const connection = await openConnection({ uri: await server.uri(), applicationName: 'x' });
    const error = await connection.query('SELECT 1').catch((failure: unknown) => failure);
    expect(errorText(error)).toContain('no answer of Postgres');
    expect(postgresTrouble(error)).toBe('unavailable');
  });
});
