import { randomBytes, randomUUID } from 'node:crypto';
import { testTraceStore } from '../../testdata/test-trace-store.js';

const TENANT = randomUUID();

describe('archives of sources', () => {
  const database = testTraceStore();
  const stored = async (): Promise<string> => {
    const { attachments } = database.store;
    const content = { sha256: randomBytes(32), size: 5_000 };
    const id = (await attachments.begin(TENANT, content.size)) ?? '';
    await attachments.reserve(TENANT, id, content);
    return (await attachments.settle(TENANT, id, content)) ?? '';
  };
  const place = () => ({ deploymentId: randomUUID(), id: randomUUID() });
  const unused = async (): Promise<readonly string[]> => {
    await database.client.query(`UPDATE attachment_objects SET check_after = now() WHERE state = 'stored'`);
    const { unused: found } = await database.store.attachments.takeUnused(100);
    return found.map(({ id }) => id);
  };

  it('takes the first upload of a place only', async () => {
    const { sourceArchives } = database.store;
    const [archive, one, other] = [place(), await stored(), await stored()];
    expect(await sourceArchives.find(TENANT, archive)).toBeUndefined();
    expect(await sourceArchives.add(TENANT, archive, one)).toBe('added');
    expect(await sourceArchives.add(TENANT, archive, other)).toBe('used');
    expect(await sourceArchives.find(TENANT, archive)).toEqual({ objectId: one, size: 5_000 });
    expect(await sourceArchives.find(randomUUID(), archive)).toBeUndefined();
    expect(await sourceArchives.add(TENANT, place(), randomUUID())).toBe('gone');
  });

  it('keeps its object until it is removed', async () => {
    const { sourceArchives } = database.store;
    const [archive, object] = [place(), await stored()];
    await sourceArchives.add(TENANT, archive, object);
    expect(await unused()).not.toContain(object);
    await sourceArchives.remove(TENANT, [archive]);
    expect(await unused()).toContain(object);
    expect(await sourceArchives.find(TENANT, archive)).toBeUndefined();
  });

  it('lists those that are old enough, page by page', async () => {
    const { sourceArchives } = database.store;
    const [old, young] = [place(), place()];
    for (const archive of [old, young]) await sourceArchives.add(TENANT, archive, await stored());
    await database.client.query(
      `UPDATE source_archives SET created_at = now() - interval '3 hours' WHERE id = '${old.id}'`,
    );
    const aged = await sourceArchives.aged();
    expect(aged).toEqual([{ tenantId: TENANT, ...old }]);
    expect(await sourceArchives.aged(aged.at(-1))).toEqual([]);
  });
});
