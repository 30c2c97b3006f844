import type { BulkExportRun } from '#lib/resources';
import type { RestRequests } from '#lib/rest-client';
import { fileLines } from './open-text.js';

const ID = '0197e0c5-2b0c-7e51-9d3a-3f0c8a3b2d10';
const run = {
  metadata: { name: 'nightly-20260501', namespace: 'ws', uid: ID },
  spec: { exportName: 'nightly' },
} as unknown as BulkExportRun;
const there = { find: async () => ({ metadata: { name: 'nightly', uid: 'e-1' } }) as never };
const gone = { find: async () => undefined };

function answering(id: string, files: readonly string[]): { asked: string[]; rest: RestRequests } {
  const asked: string[] = [];
  const answer = [{ id, metadata: { result: { exported_files: files } } }];
  return {
    asked,
    rest: {
      request: async (_method, path) => {
        asked.push(path);
        return answer as never;
      },
    },
  };
}

describe('fileLines', () => {
  it('lists the files of the run alone', async () => {
    const { asked, rest } = answering(ID, ['bucket/a.parquet', 'bucket/b.parquet']);
    expect(await fileLines(run, { client: there, rest })).toEqual(['bucket/a.parquet', 'bucket/b.parquet']);
    expect(asked).toEqual(['/api/v1/bulk-exports/e-1/runs']);
    const other = answering('another', ['bucket/a.parquet']);
    expect(await fileLines(run, { client: there, rest: other.rest })).toEqual(['— no finished file yet']);
  });

  it('says what is missing', async () => {
    const { rest } = answering(ID, []);
    expect(await fileLines(run, { client: gone, rest })).toEqual(['— the export nightly was deleted']);
    expect(await fileLines(run, { client: there, rest: undefined })).toEqual([
      expect.stringContaining('come from REST'),
    ]);
  });
});
