import { readdirSync, readFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { KubeClient, loadKubeConnection, type Untyped } from '#lib/kube';
import { CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, type ResourceRef, RESOURCES } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { testEmbeddedKube, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { KubeWorld } from './kube-world.js';

const CRDS = resolve(import.meta.dirname, '..', '..', '..', '..', 'crds');

/** A way to the API server that can be taken away. */
class Way {
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;

  constructor(readonly target: number) {}

  async open(): Promise<number> {
    this.#server = createServer((socket) => {
      const onward = connect(this.target, '127.0.0.1');
      for (const one of [socket, onward]) {
        this.#sockets.add(one);
        one.on('error', () => undefined).on('close', () => this.#sockets.delete(one));
      }
      socket.pipe(onward).pipe(socket);
    });
    await new Promise<void>((done) => this.#server?.listen(this.#port, '127.0.0.1', done));
    const address = this.#server.address();
    this.#port = typeof address === 'object' && address ? address.port : 0;
    return this.#port;
  }

  async close(): Promise<void> {
    const closed = new Promise((done) => this.#server?.close(done));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

describe('KubeWorld', () => {
  const kube = testEmbeddedKube();

  it('reports at once why the watch fails, and clears the report when it works again', async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: kube.kubeconfigPath });
    const way = new Way(Number(new URL(connection.server).port));
    const server = `https://127.0.0.1:${await way.open()}`;
    const client = new KubeClient({ ...connection, server }, { fieldManager: 'test' });
    const world = new KubeWorld({ client, clock: systemClock, log: createLogger('test', 'silent') });
    let told = 0;
    world.subscribe(() => told++);

    // a cluster that does not have the kinds
    const items = world.itemsOf({ kind: 'kube', ref: RESOURCES.AgentDeployment }, 'default');
    await waitFor(() => world.problem !== undefined, { what: 'the missing kinds' });
    expect(world.problem).toMatch(/could not find the requested resource|404/);
    // the trouble of one kind is not that of the others
    const namespaces = world.itemsOf({ kind: 'kube', ref: NAMESPACES }, undefined);
    await waitFor(() => namespaces.hasSynced, { what: 'namespaces' });
    expect([world.problem, world.trouble, namespaces.problem]).toEqual([undefined, undefined, undefined]);
    expect(items.problem).toMatch(/could not find the requested resource|404/);
    for (const name of readdirSync(CRDS).filter((file) => file.endsWith('.yaml')))
      await client.apply<Untyped>(
        CUSTOM_RESOURCE_DEFINITIONS as ResourceRef as ResourceRef<Untyped>,
        parse(readFileSync(join(CRDS, name), 'utf8')) as Untyped,
      );
    await waitFor(() => items.problem === undefined && items.hasSynced, {
      what: 'the world to be followed',
    });

    const before = told;
    await way.close();
    await waitFor(() => world.trouble !== undefined && told > before, {
      what: 'the outage',
    });
    expect(world.trouble).toMatch(
      /^watch failed, showing the state of \d\d:\d\d:\d\d UTC: .*no answer from the API server/,
    );

    expect([items.problem, namespaces.problem]).not.toContain(undefined);
    await way.open();
    await waitFor(() => world.trouble === undefined, { what: 'the way back' });
    await world.stop();
    await client.close();
    await way.close();
  });

  it('ends what nothing reads once there is much else, and keeps what is read', async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: kube.kubeconfigPath });
    const client = new KubeClient(connection, { fieldManager: 'test' });
    const world = new KubeWorld({ client, clock: systemClock, log: createLogger('test', 'silent') });
    const itemsIn = (namespace: string) => world.itemsOf({ kind: 'kube', ref: PODS }, namespace);
    const read = itemsIn('read');
    const end = read.on(() => undefined);
    const unread = itemsIn('unread');
    for (let at = 0; at < 30; at++) itemsIn(`ns-${at}`);
    expect(itemsIn('read')).toBe(read);
    expect(itemsIn('unread')).not.toBe(unread);
    end();
    for (let at = 0; at < 30; at++) itemsIn(`other-${at}`);
    expect(itemsIn('read')).not.toBe(read);
    await world.stop();
    await client.close();
  });
});
