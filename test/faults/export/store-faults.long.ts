import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { itLong, temporaryFolder, testPostgres } from '#lib/testing';
import type { StoreTrouble } from '../../support/store-front.js';
import { type ForeignStore, foreignStores } from '../../support/foreign-stores.js';
import { type Permissions, TroubledStore } from './troubled-store.js';

const TROUBLES: readonly (readonly [string, StoreTrouble])[] = [
  ['an answer of 500', { kind: 'error', status: 500, code: 'InternalError' }],
  ['an answer of 503', { kind: 'error', status: 503, code: 'SlowDown' }],
  ['a cut connection', { kind: 'reset' }],
  ['a lost answer', { kind: 'lost answer' }],
  ['a wrong ETag', { kind: 'wrong etag' }],
  ['a slow answer', { kind: 'slow', ms: 3_000 }],
];
const PERMISSIONS: readonly Permissions[] = ['write', 'write and delete', 'all'];
const ROWS = TROUBLES.flatMap(([name, trouble]) =>
  PERMISSIONS.map((permissions) => [name, permissions, trouble] as const),
);
/** With every change, each trouble with one kind of key; the long test has all of them. */
const SAMPLE = TROUBLES.map(([name, trouble], at) => [name, PERMISSIONS[at % 3] ?? 'all', trouble] as const);
const REST = ROWS.filter(
  ([name, permissions]) => !SAMPLE.some((one) => one[0] === name && one[1] === permissions),
);

const STORES: readonly { readonly name: string; readonly store?: ForeignStore }[] = [
  { name: 'the embedded store' },
  ...foreignStores().map((store) => ({ name: store.name, store })),
];

describe.each(STORES)('an export to $name', ({ store }) => {
  const postgres = testPostgres();
  const folder = temporaryFolder();
  let troubled: TroubledStore;

  beforeAll(async () => {
    troubled = await TroubledStore.start((await postgres.freshDatabase()).uri, folder, store);
  });
  afterAll(() => troubled.stop());

  it.each(SAMPLE)(
    'has every row once after %s to each kind of request, with the right to %s',
    (_name, permissions, trouble) => troubled.survive(trouble, permissions),
  );
  for (const [name, permissions, trouble] of REST)
    itLong(`has every row once after ${name} to each kind of request, with the right to ${permissions}`, () =>
      troubled.survive(trouble, permissions),
    );
  // attempts wait for minutes
  if (!store)
    itLong('has every row once after connections that stay open without an answer', () =>
      troubled.survive({ kind: 'half-open' }, 'all'),
    );
});
