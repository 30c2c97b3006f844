import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { testTraceStore } from '../../testdata/test-trace-store.js';
import { projectFeedbackStats } from './feedback-stats.js';

const TENANT = randomUUID();
const KIB = 1024;

describe('statistics of the feedback of a project', () => {
  const database = testTraceStore();
  const [few, many] = [randomUUID(), randomUUID()];

  const stats = async (projectId: string): Promise<Record<string, unknown>> => {
    const found = await projectFeedbackStats(database.client, TENANT, [few, projectId], undefined);
    return JSON.parse(found.get(projectId)?.project ?? '{}') as Record<string, unknown>;
  };

  beforeAll(async () => {
    // 800 bytes of each comment are read
    await database.client.query(
      `INSERT INTO feedback (tenant_id, id, project_id, key, score, comment, source, created_at)
      SELECT $1, gen_random_uuid(), $2, 'k', n, repeat(chr(128512), 200), 'source ' || n, now() - n * interval '1 s'
      FROM generate_series(1, 40000) AS n`,
      [TENANT, many],
    );
  });

  it('answers the three latest comments and five sources of each key', async () => {
    for (const [n, key] of ['a', 'a', 'a', 'a', 'a', 'a', 'b'].entries())
      await database.client.query(
        `INSERT INTO feedback (tenant_id, id, project_id, key, comment, source, value, value_json, created_at)
        VALUES ($1, gen_random_uuid(), $2, $3, $4, $5, 'x', '"x"', $6)`,
        [
          TENANT,
          few,
          key,
          n === 4 ? null : `comment ${n}`,
          `source ${9 - n}`,
          new Date(Date.UTC(2026, 0, 1 + n)),
        ],
      );
    expect(await stats(few)).toMatchObject({
      a: {
        n: 6,
        values: { x: 6 },
        comments: ['comment 5', 'comment 3', 'comment 2'],
        sources: ['source 4', 'source 5', 'source 6', 'source 7', 'source 8'],
      },
      b: { n: 1, comments: ['comment 6'], sources: ['source 3'] },
    });
  });

  it('holds no more than samples in the memory of the server', async () => {
    const { rows } = await database.client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const memory = async (): Promise<number> => {
      const status = await readFile(`/proc/${rows[0]?.pid}/status`, 'utf8');
      return Number(/^RssAnon:\s*(\d+) kB$/m.exec(status)?.[1]);
    };
    await stats(few);
    const before = await memory();
    let [isDone, most] = [false, before];
    const asked = stats(many).finally(() => (isDone = true));
    while (!isDone) most = Math.max(most, await memory());
    expect(await asked).toMatchObject({ k: { n: 40_000, sources: { length: 5 }, comments: { length: 3 } } });
    expect(most - before).toBeLessThan(24 * KIB);
  });
});
