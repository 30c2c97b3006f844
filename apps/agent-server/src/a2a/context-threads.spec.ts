import { prepareDatabase, storeFixture } from '../../testdata/store-fixture.js';
import { ContextThreads } from './tasks.js';

const UUID = '0193b3a0-0000-4000-8000-00000000ABCD';

describe('the thread of a context', () => {
  const [first, second] = [storeFixture(), storeFixture(5, (uri) => prepareDatabase(uri))];

  it('stays the same at each server of a deployment, and differs between owners and deployments', async () => {
    const [one, another] = [new ContextThreads(first.sql), new ContextThreads(first.sql)];
    const elsewhere = new ContextThreads(second.sql);
    const found = await one.of('alice', 'notes');
    expect(found).toEqual([
      expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-/),
    ]);
    expect(await another.of('alice', 'notes')).toEqual(found);
    const others = [one.of('bob', 'notes'), one.of(undefined, 'notes'), one.of('alice', 'Notes')];
    for (const other of await Promise.all([...others, elsewhere.of('alice', 'notes')]))
      expect(other).not.toEqual(found);
  });

  it('has the id of the context first when that is a uuid', async () => {
    const [named, derived] = await new ContextThreads(first.sql).of('alice', UUID);
    expect(named).toBe(UUID.toLowerCase());
    expect(derived).not.toBe(named);
  });
});
