import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { SERVICES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { descendants, programsBelow } from '../support/process-tree.js';
import { Rest } from '../support/rest.js';

type Services = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** What a process of the machine meets that wants to be taken for a server of the platform. */
function tryListen(port: number): Promise<string> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve('listened')));
  });
}

describe('a platform whose programs are killed', () => {
  const dataFolder = newDataFolder();
  let platform: Platform;

  beforeAll(async () => {
    platform = await startPlatform(dataFolder);
    const connection = await loadKubeConnection({ kubeconfigPath: platform.credentials.kubeconfig });
    const client = new KubeClient(connection);
    await client.create(SERVICES, {
      metadata: { namespace: 'ws-default', name: 'agent' },
      spec: { selector: { app: 'agent' }, ports: [{ name: 'http', port: 80 }] },
    });
    await waitFor(() => servicePorts().length > 0, { what: 'the port of the Service' });
    await client.close();
  });
  afterAll(async () => {
    await platform?.stop();
    removeDataFolder(dataFolder);
  });

  const read = <T>(...path: string[]): T => JSON.parse(readFileSync(join(dataFolder, ...path), 'utf8')) as T;
  const servicePorts = (): number[] =>
    Object.values(read<{ services: Services }>('node', 'services.json').services).flatMap((ports) =>
      Object.values(ports),
    );
  const pidOf = (program: string): number | undefined =>
    programsBelow(platform.process.pid ?? 0, program)[0]?.pid;

  it.each([
    ['api', ['rest', 'apiMetrics']],
    ['controller', ['controller']],
    ['embedded', ['kube', 'node', 'objectStore', 'embeddedMetrics']],
  ])('leaves no port of %s free until the next one serves it', async (program, names) => {
    const all = read<Record<string, number>>('ports.json');
    const services = program === 'embedded' ? servicePorts() : [];
    const ports = [...names.map((name) => all[name] ?? 0), ...services];
    const before = pidOf(program) ?? 0;
    process.kill(before, 'SIGKILL');
    const found = new Set<string>();
    await waitFor(
      async () => {
        for (const port of ports) found.add(await tryListen(port));
        const pid = pidOf(program);
        return pid !== undefined && pid !== before ? pid : undefined;
      },
      { what: `another ${program}` },
    );
    expect([...found]).toEqual(['EADDRINUSE']);
    // connections that came meanwhile wait for it
    expect((await new Rest(platform.credentials).get('/sessions')).status).toBe(200);
  });

  it('opens its sockets in the supervisor and in the program that serves them alone', () => {
    if (process.platform !== 'linux') return; // only Linux shows them
    const { supervisorMetrics, postgres, ...held } = read<Record<string, number>>('ports.json');
    expect([supervisorMetrics, postgres]).not.toContain(undefined);
    const inodes = new Map(listeningInodes().map(({ port, inode }) => [inode, port]));
    const owners = new Map<number, string[]>();
    const root = platform.process.pid ?? 0;
    for (const { pid, command } of [{ pid: root, command: 'apps/platform' }, ...descendants(root)])
      for (const inode of socketsOf(pid)) {
        const port = inodes.get(inode) ?? 0;
        const [program = command] = /apps\/[a-z-]+/.exec(command) ?? [];
        owners.set(port, [...new Set([...(owners.get(port) ?? []), program])]);
      }
    const expected = Object.entries(held).map(([name, port]) => [
      port,
      ['apps/platform', `apps/${OWNERS[name] ?? name}`],
    ]);
    expect(Object.values(held).map((port) => [port, owners.get(port)])).toEqual(expected);
  });
});

const OWNERS: Readonly<Record<string, string>> = {
  rest: 'api',
  apiMetrics: 'api',
  kube: 'embedded',
  node: 'embedded',
  objectStore: 'embedded',
  embeddedMetrics: 'embedded',
};

function listeningInodes(): { readonly port: number; readonly inode: string }[] {
  const LISTEN = '0A';
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((words) => words[3] === LISTEN)
    .map((words) => ({ port: parseInt(words[1]?.split(':')[1] ?? '', 16), inode: words[9] ?? '' }));
}

function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  const links = readdirSync(folder).map((name) => {
    try {
      return readlinkSync(join(folder, name));
    } catch {
      return ''; // closed meanwhile
    }
  });
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}
