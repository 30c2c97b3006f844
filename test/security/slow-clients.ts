import type { Arena, FindArena } from './arena.js';
import { findServers, type RawServer } from './raw-servers.js';

/** How long the clients of all servers hold out, all at the same time: twice the longest limit of a server. */
const PATIENCE_MS = 80_000;
const CLIENTS = 5;
const DRIP_EVERY_MS = 2_000;

interface SlowWay {
  readonly what: string;
  send(server: RawServer): string;
  /** Sends a byte now and then. */
  readonly drips?: boolean;
}

const WAYS: readonly SlowWay[] = [
  { what: 'sends nothing', send: () => '' },
  { what: 'stops in the request line', send: () => 'GET /in' },
  { what: 'stops in the headers', send: ({ get }) => `${get}x-more: 1` },
  { what: 'drips its headers', send: ({ get }) => `${get}x-more: `, drips: true },
  { what: 'never begins its body', send: ({ head }) => `${head}content-length: 1000\r\n\r\n` },
  { what: 'stops in its body', send: ({ head }) => `${head}content-length: 1000\r\n\r\n{"a":` },
  { what: 'stops in a chunk', send: ({ head }) => `${head}transfer-encoding: chunked\r\n\r\nff\r\n{"a":` },
  {
    what: 'drips its body',
    send: ({ head }) => `${head}content-length: 100000\r\n\r\n{"a":"`,
    drips: true,
  },
];

/** What became of one client: `cut`, or for how long it was still connected. */
async function holdOut(server: RawServer, { send, drips }: SlowWay): Promise<string> {
  const socket = server.connect();
  socket.on('error', () => undefined);
  socket.on('data', () => undefined);
  const cut = new Promise<string>((resolve) => socket.once('close', () => resolve('cut')));
  socket.write(send(server));
  const drip = drips ? setInterval(() => socket.write('x'), DRIP_EVERY_MS) : undefined;
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<string>(
    (resolve) =>
      (timer = setTimeout(() => resolve(`still connected after ${PATIENCE_MS / 1000} s`), PATIENCE_MS)),
  );
  try {
    return await Promise.race([cut, patience]);
  } finally {
    clearTimeout(timer);
    clearInterval(drip);
    socket.destroy();
  }
}

/** Outcomes by server and way. */
export type SlowClients = Promise<Readonly<Record<string, readonly string[]>>>;

/** Lets slow clients loose on every server; the other attacks run meanwhile. */
export async function startSlowClients(arena: Arena): SlowClients {
  const rows = (await findServers(arena)).flatMap((server) =>
    WAYS.map(async (way) => {
      const outcomes = await Promise.all(Array.from({ length: CLIENTS }, () => holdOut(server, way)));
      return [`${server.name}: ${way.what}`, outcomes] as const;
    }),
  );
  return Object.fromEntries(await Promise.all(rows));
}

/** Clients that hold connections without using them. */
export function attackWithSlowClients(arena: FindArena, running: () => SlowClients): void {
  describe('slow clients', () => {
    it('lose their connections at every server', async () => {
      const outcomes = await running();
      expect(Object.keys(outcomes)).toHaveLength(5 * WAYS.length);
      const held = Object.entries(outcomes).filter(([, each]) => each.some((outcome) => outcome !== 'cut'));
      expect(held).toEqual([]);
      expect((await arena().victim.rest.get('/sessions')).status).toBe(200);
    });
  });
}
