import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { runApi } from './testdata/running-api.js';

describe('an api that closes', () => {
  const postgres = testPostgres();

  it('ends connections that never carried a request', async () => {
    const [store, kube] = [await postgres.freshDatabase(), await postgres.freshDatabase()];
    const api = await runApi(store.uri, kube.uri);
    const { hostname, port } = new URL(api.url);
    // as browsers open one ahead
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    await fetch(`${api.url}/ok`);
    const closed = once(socket, 'close');
    const stopped = api.stop().then(() => 'stopped');
    expect(await Promise.race([stopped, systemClock.sleep(20_000).then(() => 'waits')])).toBe('stopped');
    await closed;
  });
});
