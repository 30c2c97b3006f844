import { createSocket, type Socket } from 'node:dgram';
import { type LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { NameResolver, parseSearchList, type Resolve, wholeNames } from './name-resolver.js';

const A = 1;
const AAAA = 28;

/** A name server over UDP: `4.NAME` has addresses of one family only, `silent.NAME` is never answered. */
class NameServer {
  readonly asked: string[] = [];

  private constructor(readonly socket: Socket) {
    socket.on('message', (question, { port }) => {
      const answer = this.#answer(question);
      if (answer) socket.send(answer, port, '127.0.0.1');
    });
  }

  static async start(): Promise<NameServer> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new NameServer(socket);
  }

  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  #answer(question: Buffer): Buffer | undefined {
    const labels: string[] = [];
    let at = 12;
    for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
      labels.push(question.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join('.');
    const type = question.readUInt16BE(at + 1);
    this.asked.push(`${type} ${name}`);
    const kind = labels[0] ?? '';
    if (kind.startsWith('silent') || (kind === 'half' && type === AAAA)) return undefined;
    const isUnknown = kind === 'unknown';
    const has = !isUnknown && (type === A ? kind !== 'six' : kind !== 'four');
    const data =
      type === A ? Buffer.from([192, 0, 2, 7]) : Buffer.from('20010db8000000000000000000000007', 'hex');
    const header = Buffer.from(question.subarray(0, 12));
    header.writeUInt16BE(isUnknown ? 0x8183 : 0x8180, 2);
    header.writeUInt16BE(has ? 1 : 0, 6);
    header.writeUInt32BE(0, 8);
    const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]);
    const parts = [header, question.subarray(12, at + 5)];
    return Buffer.concat(has ? [...parts, record, data] : parts);
  }
}

const folder = temporaryFolder();
const hostsFile = join(folder, 'hosts');
const resolvConf = join(folder, 'resolv.conf');
let server: NameServer;

beforeAll(async () => {
  server = await NameServer.start();
  writeFileSync(
    hostsFile,
    '# 10.0.0.1 comment.test\n10.0.0.2\thooks.test Other.Test # here\n::2 hooks.test\nnonsense hooks.test\n\n',
  );
});
afterAll(() => void server.socket.close());
beforeEach(() => void (server.asked.length = 0));

const noSystem: Resolve = (_name, _options, callback) =>
  callback(Object.assign(new Error('none'), { code: 'ENOTFOUND' }), []);

function resolverOf(system: Resolve = noSystem): NameResolver {
  return new NameResolver({ servers: [server.address], hostsFile, resolvConf, system });
}

/** Addresses, or the code of the error. */
function find(resolver: NameResolver, name: string, family = 0): Promise<string> {
  return new Promise((resolve) => {
    resolver.resolve(name, { all: true, family }, (error, found: LookupAddress[]) =>
      resolve(error ? String(error.code) : found.map(({ address }) => address).join(' ')),
    );
  });
}

describe('wholeNames', () => {
  const cluster = parseSearchList(
    '# comment\nsearch old.test\nsearch Ns.Svc.Local. svc.local\noptions edns0 ndots:3\n',
  );

  it.each([
    ['a short name', 'store', cluster, ['store.ns.svc.local', 'store.svc.local', 'store']],
    [
      'a name with as many dots as it takes',
      'a.b.c.d',
      cluster,
      ['a.b.c.d', 'a.b.c.d.ns.svc.local', 'a.b.c.d.svc.local'],
    ],
    ['a name that ends with a dot', 'store.', cluster, ['store']],
    ['a name where there is no list', 'store', parseSearchList('nameserver 10.0.0.1'), ['store']],
    ['a name where one domain is named', 'a.b', parseSearchList('domain x.test\n'), ['a.b', 'a.b.x.test']],
  ])('completes %s', (_, name, list, expected) => {
    expect(wholeNames(name, list)).toEqual(expected);
  });
});

describe('NameResolver', () => {
  it.each([
    ['the addresses of both families', 'name.test', 0, '192.0.2.7 2001:db8::7'],
    ['those of the family that is asked for', 'name.test', 6, '2001:db8::7'],
    ['a name with one family', 'four.test', 0, '192.0.2.7'],
    ['a name with the other family', 'six.test', 0, '2001:db8::7'],
    ['no address of a family that a name does not have', 'four.test', 6, 'ENOTFOUND'],
    ['a name whose server answers one family only', 'half.test', 0, '192.0.2.7'],
    ['no address of a name that does not exist', 'unknown.test', 0, 'ENOTFOUND'],
    ['a name of the hosts file', 'hooks.test', 0, '10.0.0.2 ::2'],
    ['a name of the hosts file, however it is written', 'OTHER.test.', 0, '10.0.0.2'],
    ['no comment of the hosts file', 'comment.test', 0, '192.0.2.7 2001:db8::7'],
    ['this machine', 'localhost', 0, '127.0.0.1 ::1'],
    ['this machine by a name below it', 'a.LOCALHOST.', 0, '127.0.0.1 ::1'],
  ])('finds %s', async (_, name, family, expected) => {
    expect(await find(resolverOf(), name, family)).toBe(expected);
  });

  it('reads the hosts file again when it has changed', async () => {
    const ownFile = join(folder, 'changing');
    let ms = 0;
    const clock = {
      now: () => new Date(),
      monotonicMs: () => ms,
      after: () => () => undefined,
      sleep: never,
    };
    const resolver = new NameResolver({
      servers: [server.address],
      hostsFile: ownFile,
      resolvConf,
      system: noSystem,
      clock,
    });
    expect(await find(resolver, 'mine.test')).toBe('192.0.2.7 2001:db8::7');
    writeFileSync(ownFile, '10.0.0.9 mine.test');
    ms = 3_000;
    expect(await find(resolver, 'mine.test')).toBe('10.0.0.9');
  });

  it('looks below the search domains first, and for the name itself last', async () => {
    const ownFile = join(folder, 'search');
    writeFileSync(ownFile, 'search unknown.test svc.test\noptions ndots:2\n');
    const resolver = new NameResolver({
      servers: [server.address],
      hostsFile,
      resolvConf: ownFile,
      system: noSystem,
    });
    expect(await find(resolver, 'unknown.store')).toBe('ENOTFOUND');
    expect(server.asked.filter((question) => question.startsWith('1 '))).toEqual([
      '1 unknown.store.unknown.test',
      '1 unknown.store.svc.test',
      '1 unknown.store',
    ]);
    expect(await find(resolver, 'store')).toBe('192.0.2.7 2001:db8::7');
    expect(server.asked.at(-1)).toContain('store.unknown.test');
  });

  it('asks once for a name that many look for', async () => {
    const resolver = resolverOf();
    const found = await Promise.all(Array.from({ length: 50 }, () => find(resolver, 'many.test')));
    expect(new Set(found)).toEqual(new Set(['192.0.2.7 2001:db8::7']));
    expect(server.asked).toHaveLength(2);
  });

  it('asks the system for names that servers do not have, one after the other', async () => {
    let [busy, most] = [0, 0];
    const resolver = resolverOf((_name, _options, callback) => {
      most = Math.max(most, ++busy);
      setImmediate(() => {
        busy--;
        callback(null, [{ address: '10.1.1.1', family: 4 }]);
      });
    });
    const names = Array.from({ length: 20 }, (_, at) => `unknown.${at}.test`);
    const found = await Promise.all(names.map((name) => find(resolver, name)));
    expect(new Set(found)).toEqual(new Set(['10.1.1.1']));
    expect(most).toBe(1);
  });

  it('keeps neither files nor other names waiting while a thousand names are not answered', async () => {
    const resolver = resolverOf(() => {
      throw new Error('the system was asked for a name whose server is silent');
    });
    let over = 0;
    const silent = Array.from({ length: 1_000 }, (_, at) => find(resolver, `silent${at}.test`));
    const [waiting, refused] = [silent.slice(0, 256), silent.slice(256)];
    for (const one of waiting) void one.then(() => over++);
    expect(new Set(await Promise.all(refused))).toEqual(new Set(['EAI_AGAIN']));
    await Promise.all([readFile(hostsFile), lookup('localhost')]);
    expect(await find(resolver, 'hooks.test')).toBe('10.0.0.2 ::2');
    expect(over).toBe(0);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['EAI_AGAIN']));
    expect(await find(resolver, 'name.test')).toBe('192.0.2.7 2001:db8::7');
  });

  it('finds a name while another is not answered', async () => {
    const resolver = resolverOf();
    let isOver = false;
    void find(resolver, 'silent.test').finally(() => (isOver = true));
    expect(await find(resolver, 'name.test')).toBe('192.0.2.7 2001:db8::7');
    expect(isOver).toBe(false);
  });
});

function never(): Promise<void> {
  return new Promise(() => undefined);
}
