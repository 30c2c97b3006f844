import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { errorText } from '#lib/errors';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { Notifications, openConnection } from './notifications.js';
import { openPool } from './open-pool.js';
import { postgresTrouble } from './postgres-trouble.js';

const postgres = testPostgres();
const log = createLogger('test', 'silent');
const PASSWORD = 'the-password-of-the-role';
const NEEDS_SCRAM = '?require_auth=scram-sha-256';

/** A message of the server: its type, its length, its body. */
function message(type: string, ...parts: (number | string)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([0, 0, 0, part]))),
  );
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const OK = message('R', 0);
const READY = message('Z', 'I');
const SASL = message('R', 10, 'SCRAM-SHA-256\0\0');

/** A program that took the port of the database: its messages, and the data that it found out. */
class FalseServer {
  heard = '';
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(answers: (sent: string) => Buffer) {
    this.#server = createServer((socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('data', (piece: Buffer) => {
        this.heard += piece.toString('latin1');
        socket.write(answers(piece.toString('latin1')));
      });
    });
  }

  async uri(query: string): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const { port } = this.#server.address() as AddressInfo;
    return `postgres://role:${PASSWORD}@127.0.0.1:${port}/db${query}`;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

const thrown = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'nothing',
    (error: unknown) => error,
  );

describe('require_auth', () => {
  let server: FalseServer | undefined;
  afterEach(() => server?.close());

  /** A forged signature, at the end of an exchange that looks right. */
  const pretendScram = (sent: string): Buffer => {
    const nonce = /r=([^,\0]+)$/.exec(sent)?.[1];
    if (sent.startsWith('p') && sent.includes('p=')) {
      const forged = Buffer.alloc(32).toString('base64');
      return Buffer.concat([message('R', 12, `v=${forged}`), OK, READY]);
    }
    if (nonce !== undefined)
      return message('R', 11, `r=${nonce}more,s=${Buffer.from('salt').toString('base64')},i=4096`);
    return SASL;
  };

  const MALICE: [string, (sent: string) => Buffer, RegExp][] = [
    ['asks for the password in clear', () => message('R', 3), /SCRAM.*password in clear/],
    ['asks for an MD5 hash', () => message('R', 5, 'salt'), /SCRAM.*MD5 hash/],
    ['trusts everybody', () => Buffer.concat([OK, READY]), /SCRAM.*no proof/],
    ['skips the login', () => READY, /SCRAM.*readyForQuery/],
    ['begins SCRAM and then lets everybody in', () => Buffer.concat([SASL, OK, READY]), /SCRAM.*no proof/],
    ['begins SCRAM and then asks in clear', () => Buffer.concat([SASL, message('R', 3)]), /SCRAM.*in clear/],
    [
      'ends SCRAM before it began',
      () => Buffer.concat([message('R', 12, 'v=AAAA'), OK, READY]),
      /login by SCRAM failed/,
    ],
    ['forges the signature of SCRAM', pretendScram, /server signature does not match/],
  ];

  it.each(MALICE)('sends no secret to a server that %s', async (_name, answers, words) => {
    server = new FalseServer(answers);
    const uri = await server.uri(NEEDS_SCRAM);
    const pool = openPool({ uri, applicationName: 'x', connectTimeoutMs: 2_000, log });
    const errors = [
      await thrown(pool.query(`SELECT 'a secret of a statement'`)),
      await thrown(pool.connect()),
      await thrown(openConnection({ uri, applicationName: 'x', connectTimeoutMs: 2_000 })),
    ];
    await pool.end();
    expect(server.connections).toBe(3);
    expect(server.heard).not.toContain(PASSWORD);
    expect(server.heard).not.toMatch(/md5|secret/);
    for (const error of errors) {
      expect(postgresTrouble(error)).toBe('unavailable');
      expect(errorText(error)).toMatch(words);
    }
  });

  it('sends no secret when it listens, and tries again', async () => {
    server = new FalseServer(() => message('R', 3));
    const listening = new Notifications<'word'>({
      uri: await server.uri(NEEDS_SCRAM),
      channel: 'c',
      applicationName: 'x',
      clock: systemClock,
      log,
    });
    await listening.start();
    await waitFor(() => (server?.connections ?? 0) > 1);
    await listening.stop();
    expect(server.heard).not.toContain(PASSWORD);
  });

  it.each([
    ['FATAL', '28P01', NEEDS_SCRAM],
    ['ERROR', '42P01', NEEDS_SCRAM],
    ['FATAL', '28P01', ''],
    ['FATAL', '42501', ''],
    ['PANIC', 'XX000', ''],
  ])('takes no %s %s of a server for the last word that proved nothing', async (severity, code, query) => {
    const fields = `S${severity}\0C${code}\0Mgo away\0\0`;
    server = new FalseServer(() => message('E', fields));
    const uri = await server.uri(query);
    const pool = openPool({ uri, applicationName: 'x', connectTimeoutMs: 2_000, log });
    const errors = [
      await thrown(pool.query('SELECT 1')),
      await thrown(openConnection({ uri, applicationName: 'x', connectTimeoutMs: 2_000 })),
    ];
    await pool.end();
    for (const error of errors) {
      expect(postgresTrouble(error)).toBe('unavailable');
      expect(errorText(error)).toContain('go away');
    }
  });

  it('leaves a server alone whose URI asks for nothing', async () => {
    server = new FalseServer(() => message('R', 3));
    const heard = server;
    const uri = await server.uri('');
    const failing = thrown(openConnection({ uri, applicationName: 'x', connectTimeoutMs: 1_000 }));
    await waitFor(() => heard.heard.includes(PASSWORD));
    server.close();
    expect(postgresTrouble(await failing)).toBe('unavailable');
  });

  describe('a real server', () => {
    let uri: string;
    beforeAll(async () => {
      uri = (await postgres.freshDatabase()).uri + NEEDS_SCRAM;
    });

    it('serves once it has proved itself', async () => {
      const pool = openPool({ uri, applicationName: 'x', log });
      expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
      await pool.end();
      const own = await openConnection({ uri, applicationName: 'x' });
      expect((await own.query('SELECT 2 AS two')).rows).toEqual([{ two: 2 }]);
      await own.end();
    });

    it('reports a wrong password, which is waited for', async () => {
      const wrong = new URL(uri);
      wrong.password = 'wrong';
      const error = await thrown(openConnection({ uri: wrong.toString(), applicationName: 'x' }));
      expect(errorText(error)).toMatch(/refused the login: password authentication failed .*\(28P01\)/);
      expect(postgresTrouble(error)).toBe('unavailable');
    });
  });

  it.each(['md5', '!none', '', 'scram-sha-256&require_auth=none'])(
    'refuses the value "%s"',
    async (value) => {
      const options = {
        uri: `postgres://u:p@127.0.0.1:1/d?require_auth=${value}`,
        applicationName: 'x',
        log,
      };
      expect(() => openPool(options)).toThrow(/require_auth.*use scram-sha-256 or leave it out/);
      await expect(openConnection(options)).rejects.toThrow(/require_auth/);
    },
  );
});
