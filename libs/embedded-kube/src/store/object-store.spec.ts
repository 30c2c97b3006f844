import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#lib/kube-semantics';
import { createLogger } from '#lib/telemetry';
import { FakeClock, testPostgres, waitFor } from '#lib/testing';
import { ChangeLog, type ChangeRecord } from './change-log.js';
import { JsonCipher } from './json-cipher.js';
import { type NamespaceQuota } from './namespace-quota.js';
import { ObjectStore } from './object-store.js';

/** The real log, whose commits can be held up. */
class HeldLog extends ChangeLog {
  readonly batches: number[] = [];
  #held = Promise.withResolvers<void>();
  #isHeld = false;

  hold(): void {
    this.#isHeld = true;
    this.#held = Promise.withResolvers<void>();
  }

  release(): void {
    this.#isHeld = false;
    this.#held.resolve();
  }

  override async commit(batch: readonly ChangeRecord[]): Promise<void> {
    this.batches.push(batch.length);
    if (this.#isHeld) await this.#held.promise;
    await super.commit(batch);
  }
}

const QUOTA: NamespaceQuota = {
  appliesTo: (namespace) => namespace === 'small',
  objects: 3,
  kinds: {},
  letters: 100_000,
  ports: 1,
  requests: new Map(),
  advice: 'QUOTA',
};
const MEGABYTE = 1_000_000;

describe('the store, whose database confirms nothing', () => {
  const postgres = testPostgres();
  let clock: FakeClock;
  let log: HeldLog;
  let store: ObjectStore;

  beforeEach(async () => {
    const { uri } = await postgres.freshDatabase();
    clock = new FakeClock();
    log = new HeldLog(uri);
    const cipher = new JsonCipher([randomBytes(32)]);
    const logger = createLogger('test', 'silent');
    store = new ObjectStore({ log, cipher, clock, logger, maxChanges: 1_000, quota: QUOTA });
    await store.open();
    log.hold();
  });

  afterEach(async () => {
    log.release();
    await store.close();
  });

  /** Creates or replaces a ConfigMap; the code that it is answered with. */
  function put(namespace: string, name: string, letters = 1): Promise<number> {
    const data = { x: 'x'.repeat(letters) };
    const object: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data };
    const key = { resource: 'configmaps', namespace, name };
    return store
      .change(key, () => ({ kind: 'put', object }))
      .then(
        () => 200,
        (error: { code: number }) => error.code,
      );
  }

  function tally(codes: readonly number[]): Readonly<Record<number, number>> {
    const found: Record<number, number> = {};
    for (const code of codes) found[code] = (found[code] ?? 0) + 1;
    return found;
  }

  it('refuses writes of a namespace beyond its share of the memory, and takes those of others', async () => {
    const writes = Array.from({ length: 100 }, (_, index) => put('greedy', `m${index}`, MEGABYTE));
    const other = put('modest', 'm');
    const own = put('', 'node');
    log.release();
    expect([await other, await own]).toEqual([200, 200]);
    expect(tally(await Promise.all(writes))).toEqual({ 200: 17, 503: 83 });
    expect(await put('greedy', 'again', MEGABYTE)).toBe(200);
    expect(Math.max(...log.batches)).toBeLessThanOrEqual(10); // 8 MB
  });

  it('drops a write that was not answered in time, and those that wait for the same object', async () => {
    const begun = put('a', 'begun');
    await waitFor(() => log.batches.length === 1);
    const queued = [put('a', 'queued'), put('a', 'queued'), put('a', 'begun')];
    await clock.advance(30_000);
    expect(await Promise.all([begun, ...queued])).toEqual([504, 504, 504, 504]);
    log.release();
    expect(await put('a', 'later')).toBe(200);
    expect(store.list('configmaps', 'a').map(({ object }) => object.metadata.name)).toEqual([
      'begun',
      'later',
    ]);
    expect(await put('a', 'queued')).toBe(200);
  });

  it('refuses at once what a namespace may not hold, and frees what is dropped', async () => {
    const made = [1, 2, 3].map((index) => put('small', `m${index}`));
    expect(await put('small', 'm4')).toBe(403);
    await clock.advance(30_000);
    await Promise.all(made);
    log.release();
    await waitFor(() => store.list('configmaps', 'small').length > 0); // those of the first batch
    const left = 3 - store.list('configmaps', 'small').length;
    for (let index = 0; index < left; index++) expect(await put('small', `n${index}`)).toBe(200);
    expect(await put('small', 'full')).toBe(403);
  });

  it('shows the same objects under the same revisions after writes that were never committed', async () => {
    const begun = put('a', 'begun');
    await waitFor(() => log.batches.length === 1);
    const dropped = put('a', 'dropped');
    await clock.advance(30_000);
    await Promise.all([begun, dropped]);
    log.release();
    await put('a', 'later');
    const before = store.list('configmaps').map(({ json }) => json);
    expect(store.history.since(1)?.map(({ name }) => name)).toEqual(['begun', 'later']);
    await store.close();
    await store.open();
    expect(store.list('configmaps').map(({ json }) => json)).toEqual(before);
  });

  it('pauses while a batch is shown to watches that take long, and keeps its order', async () => {
    let [turns, isOver] = [0, false];
    const shown: (readonly [string, number])[] = [];
    store.subscribe(({ name }) => {
      shown.push([name, turns]);
      void clock.standStill(15);
    });
    const tick = (): void => void (turns++, isOver || setImmediate(tick));
    const writes = Array.from({ length: 11 }, (_, index) => put('a', `m${index}`));
    await waitFor(() => log.batches.length === 1);
    log.release();
    setImmediate(tick);
    await Promise.all(writes);
    isOver = true;
    expect(shown.map(([name]) => name)).toEqual(Array.from({ length: 11 }, (_, index) => `m${index}`));
    expect(new Set(shown.map(([, turn]) => turn)).size).toBeGreaterThanOrEqual(5);
  });
});
