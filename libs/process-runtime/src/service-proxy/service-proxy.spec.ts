import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Informers, KubeClient, loadKubeConnection, startControllers } from '#lib/kube';
import type { Stoppable } from '#lib/lifecycle';
import { ANNOTATION, NAMESPACES, type Service, SERVICES } from '#lib/resources';
import { isPortFree } from '#lib/held-sockets';
import { createLogger } from '#lib/telemetry';
import { freePort, temporaryFolder, testEmbeddedKube, waitFor } from '#lib/testing';
import { systemClock as clock } from '#lib/time';
import { createServiceProxy } from './service-proxy.js';

const log = createLogger('test', process.env.TEST_LOG ?? 'silent');

describe('a Service on loopback', () => {
  const server = testEmbeddedKube();
  const folder = temporaryFolder();
  const running: Stoppable[] = [];
  let client: KubeClient;
  let files = 0;

  beforeAll(async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath });
    client = new KubeClient(connection, { fieldManager: 'test' });
    for (const name of ['red', 'blue', 'full']) await client.create(NAMESPACES, { metadata: { name } });
  });
  afterEach(() => stop());
  afterAll(async () => {
    await stop();
    await client?.close();
  });

  const newFile = (): string => join(folder, `services-${++files}.json`);

  async function start(file: string, maxPorts?: number): Promise<void> {
    const informers = new Informers({ client, log, clock });
    const proxy = createServiceProxy({
      informers,
      client,
      clock,
      log,
      file,
      node: { servingPortsOf: () => undefined, onServing: () => undefined },
      ...(maxPorts === undefined ? {} : { maxPorts }),
    });
    const controllers = await startControllers({ informers, controllers: [proxy.controller], log, clock });
    running.push(proxy, controllers);
  }

  async function stop(): Promise<void> {
    for (const each of running.splice(0).reverse()) await each.stop();
  }

  function make(namespace: string, name: string, noted?: string): Promise<Service> {
    return client.create(SERVICES, {
      metadata: {
        namespace,
        name,
        ...(noted === undefined ? {} : { annotations: { [ANNOTATION.loopbackPort]: noted } }),
      },
      spec: { selector: { app: name }, ports: [{ name: 'http', port: 80 }] },
    });
  }

  /** Waits until `test` accepts the annotation of the Service, and returns it. */
  function noted(namespace: string, name: string, test: (text: string) => boolean): Promise<string> {
    return waitFor(
      async () => {
        const { metadata } = await client.get(SERVICES, { namespace, name });
        const text = metadata.annotations?.[ANNOTATION.loopbackPort] ?? '';
        if (test(text)) return text;
        throw new Error(`the annotation is ${JSON.stringify(text)}`);
      },
      { what: `the port of ${namespace}/${name}` },
    );
  }

  it('keeps its port over a restart', async () => {
    const file = newFile();
    await start(file);
    await make('red', 'kept');
    const before = await noted('red', 'kept', (text) => text !== '');
    await stop();
    await start(file);
    await waitFor(async () => !(await isPortFree(Number(before))));
    expect(await noted('red', 'kept', (text) => text !== '')).toBe(before);
  });

  it('gets no port that its writer chose, neither when it is made nor at the next start', async () => {
    const file = newFile();
    await start(file);
    const wanted = await freePort();
    await make('red', 'new', String(wanted));
    await make('red', 'old');
    const own = await noted('red', 'old', (text) => text !== '');
    expect(await noted('red', 'new', (text) => text !== String(wanted))).not.toBe('');
    await stop();
    const patch = { metadata: { annotations: { [ANNOTATION.loopbackPort]: String(wanted) } } };
    await client.merge(SERVICES, { namespace: 'red', name: 'old' }, patch);
    await start(file);
    expect(await noted('red', 'old', (text) => text !== String(wanted))).toBe(own);
    expect(await isPortFree(wanted)).toBe(true);
  });

  it('keeps its port when a Service of another namespace names it', async () => {
    const file = newFile();
    await start(file);
    await make('red', 'victim');
    const port = await noted('red', 'victim', (text) => text !== '');
    await stop();
    await make('blue', 'attacker', port);
    await start(file);
    await noted('blue', 'attacker', (text) => text !== port);
    expect(await noted('red', 'victim', (text) => text !== '')).toBe(port);
  });

  it('keeps the port of its annotation where nothing is remembered yet', async () => {
    const wanted = await freePort();
    const { metadata } = await make('red', 'older', String(wanted));
    // one that is made while the proxy starts is not older
    const nextSecond = new Date(metadata.creationTimestamp ?? '').getTime() + 1_000;
    await waitFor(() => clock.now().getTime() > nextSecond);
    await start(newFile());
    await waitFor(async () => !(await isPortFree(wanted)));
  });

  it('gets a port although those of another namespace ask for more than they may have', async () => {
    await start(newFile(), 6);
    const names = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'];
    for (const name of names) await make('full', name);
    await make('blue', 'late');
    await noted('blue', 'late', (text) => text !== '');
    const withPort = async (): Promise<string[]> => {
      const found = await Promise.all(names.map((name) => client.get(SERVICES, { namespace: 'full', name })));
      const noting = found.filter(({ metadata }) => metadata.annotations?.[ANNOTATION.loopbackPort]);
      return noting.map(({ metadata }) => metadata.name ?? '');
    };
    await waitFor(async () => (await withPort()).length === 6);
    await make('blue', 'last');
    await noted('blue', 'last', (text) => text !== '');
    const [first = '', ...others] = await withPort();
    expect(others).toHaveLength(5);
    // one that is removed leaves its port to the next
    await client.delete(SERVICES, { namespace: 'full', name: first });
    names.splice(names.indexOf(first), 1);
    await waitFor(async () => (await withPort()).length === 6);
  });
});
