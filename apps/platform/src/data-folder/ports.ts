import { createServer } from 'node:net';
import { readJson, writeJson } from '#lib/data-folder';
import { findStablePort, HeldSockets, type ListenAddress } from '#lib/held-sockets';
import type { Clock } from '#lib/time';

/** Every port of a platform; once chosen they stay, so that addresses do. */
export interface Ports {
  readonly rest: number;
  /** The REST interface with TLS, where that is asked for. */
  readonly tls?: number;
  readonly kube: number;
  readonly objectStore: number;
  readonly postgres: number;
  readonly node: number;
  /** Health, readiness and metrics of the controller. */
  readonly controller: number;
  /** Metrics of the programs that have no internal server of their own. */
  readonly apiMetrics: number;
  readonly embeddedMetrics: number;
  readonly supervisorMetrics: number;
}

/**
 * The ports of a data folder: those it keeps, and free ones for what is missing.
 * @param wished port of the REST interface as asked for; 0 lets it be chosen once and then kept. With TLS it is a port
 * beside that for programs of this machine
 */
export async function choosePorts(
  path: string,
  wished: { readonly port: number; readonly isTls: boolean },
): Promise<Ports> {
  const { tls: keptTls, ...kept } = readJson<Partial<Ports>>(path) ?? {};
  const known = wished.isTls ? withTls(kept, wished.port || keptTls) : withRest(kept, wished.port);
  const taken = new Set(Object.values(known));
  const choose = async (name: keyof Ports): Promise<number> => {
    const port = known[name] ?? (await findStablePort((free) => !taken.has(free)));
    taken.add(port);
    return port;
  };
  return {
    rest: await choose('rest'),
    ...(wished.isTls ? { tls: await choose('tls') } : {}),
    kube: await choose('kube'),
    objectStore: await choose('objectStore'),
    postgres: await choose('postgres'),
    node: await choose('node'),
    controller: await choose('controller'),
    apiMetrics: await choose('apiMetrics'),
    embeddedMetrics: await choose('embeddedMetrics'),
    supervisorMetrics: await choose('supervisorMetrics'),
  };
}

function withRest(kept: Partial<Ports>, port: number): Partial<Ports> {
  return port === 0 ? kept : { ...kept, rest: port };
}

/** A port that served without TLS before is not both. */
function withTls({ rest, ...kept }: Partial<Ports>, port: number | undefined): Partial<Ports> {
  return {
    ...kept,
    ...(rest === undefined || rest === port ? {} : { rest }),
    ...(port === undefined ? {} : { tls: port }),
  };
}

/** Keeps the ports for later starts; to be called once they are known to be free. */
export function keepPorts(path: string, ports: Ports): void {
  writeJson(path, ports);
}

/**
 * Forgets the kept ports that other programs of this machine have, as a folder that comes from another machine needs.
 * @returns their names
 */
export async function dropTakenPorts(path: string): Promise<readonly string[]> {
  const kept = readJson<Partial<Ports>>(path) ?? {};
  const dropped: string[] = [];
  for (const [name, port] of Object.entries(kept))
    if ((await portTrouble({ host: '127.0.0.1', port })) !== undefined) dropped.push(name);
  if (dropped.length > 0)
    writeJson(path, Object.fromEntries(Object.entries(kept).filter(([name]) => !dropped.includes(name))));
  return dropped;
}

const SERVERS: Readonly<Record<keyof Ports, string>> = {
  rest: 'the REST interface',
  tls: 'the REST interface with TLS',
  kube: 'the API server',
  objectStore: 'the object store',
  postgres: 'Postgres',
  node: 'the node',
  controller: 'the health of the controller',
  apiMetrics: 'the metrics of the api',
  embeddedMetrics: 'the metrics of the embedded servers',
  supervisorMetrics: 'the metrics of the supervisor',
};

/** Programs that are just ending give their ports back within this time. */
const PATIENCE_MS = 2_000;
const LOOK_MS = 100;

/**
 * Makes sure that the ports can be listened on, since a server that cannot have its port would be started again and
 * again, and the program that has it would be mistaken for it.
 * @throws Error that names the port, its purpose and the remedy
 */
export async function requireFreePorts(
  ports: Ports,
  names: readonly (keyof Ports)[],
  { host, path, clock }: { readonly host: string; readonly path: string; readonly clock: Clock },
): Promise<void> {
  const deadline = clock.monotonicMs() + PATIENCE_MS;
  for (const name of names) {
    for (;;) {
      const address = addressOf(ports, name, host);
      const code = await portTrouble(address);
      if (code === undefined) break;
      if (code === 'EADDRINUSE' && clock.monotonicMs() < deadline) {
        await clock.sleep(LOOK_MS);
        continue;
      }
      const trouble =
        code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be listened on (${code})`;
      const advice =
        name === 'tls' || (name === 'rest' && ports.tls === undefined)
          ? `choose another with --listen ${name === 'tls' ? host : '127.0.0.1'}:PORT`
          : `remove "${name}" from ${path} to have another chosen`;
      throw new Error(`port ${address.port} of ${SERVERS[name]} ${trouble}; end that program, or ${advice}`);
    }
  }
}

function addressOf(ports: Ports, name: keyof Ports, host: string): ListenAddress {
  const isAsked = name === 'tls' || (name === 'rest' && ports.tls === undefined);
  return { host: isAsked ? host : '127.0.0.1', port: ports[name] ?? 0 };
}

/**
 * Listens on the ports from now on, for programs that start later and may be started again: at no moment another program
 * can have one of them and get what clients send.
 * @throws Error as `requireFreePorts`
 */
export async function holdPorts(
  ports: Ports,
  names: readonly (keyof Ports)[],
  at: { readonly host: string; readonly path: string; readonly clock: Clock },
): Promise<HeldSockets> {
  await requireFreePorts(ports, names, at);
  const sockets = new HeldSockets();
  const failed = await sockets.hold(names.map((name) => addressOf(ports, name, at.host)));
  if (failed.size === 0) return sockets;
  // taken since it was looked at
  await requireFreePorts(ports, names, at);
  throw new Error(
    `holding the ports ${[...failed.keys()].join(', ')} failed: ${[...failed.values()].join(', ')}`,
  );
}

/** The code of the error that listening meets. */
function portTrouble({ port, host }: ListenAddress): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  });
}
