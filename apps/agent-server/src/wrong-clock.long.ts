import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { steppedClock, temporaryFolder, testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';

const LEASE_MS = 1_500;
const HOUR_S = 3_600;
const clock = steppedClock();
if (!clock)
  process.stderr.write(
    '\n*** LEFT OUT: libfaketime is missing, so the rows of a clock that is set did not run ("apt-get install faketime").\n\n',
  );

const postgres = testPostgres();
const folder = temporaryFolder();
let files = 0;

/** Steps that ran, each with its attempt. */
function stepsIn(file: string): string[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => line.replace(/ \S+ /, ' '));
}

/** Milliseconds in a UUID of version 7. */
function timeOf(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
}

(clock ? describe : describe.skip)('a server whose clock is set by an hour while runs are at work', () => {
  it.each([
    ['forward', HOUR_S],
    ['back', -HOUR_S],
  ])(
    'keeps its runs, starts none early and takes over those of a dead server when it is set %s',
    async (_, by) => {
      clock?.step(0);
      const { uri } = await postgres.freshDatabase();
      const env = { AGENTPLANE_RUN_LEASE_MS: String(LEASE_MS) };
      const wrong = await ServerProcess.start({ uri, env: { ...env, ...clock?.environment } });
      const right = await ServerProcess.start({ uri, env });
      try {
        const begin = async (
          server: ServerProcess,
          waitMs: number,
          options: { afterSeconds?: number } = {},
        ) => {
          const file = join(folder, String(files++));
          const { thread_id: threadId } = await server.client().threads.create();
          const input = { waitMs, file };
          const { run_id: runId } = await server
            .client()
            .runs.create(threadId, 'slow', { input, ...options });
          return { threadId, runId, file };
        };
        const atWork = [await begin(wrong, 1_500), await begin(right, 1_500)];
        for (const { file } of atWork) await waitFor(() => stepsIn(file).length > 0);
        const askedMs = performance.now();
        const delayed = await begin(wrong, 1, { afterSeconds: 4 });
        clock?.step(by);
        const made = await waitFor(async () => {
          const { thread_id: id } = await wrong.client().threads.create();
          return Math.abs(timeOf(id) - by * 1000 - Date.now()) < 60_000 && id;
        }); // the server makes ids by its own clock
        // and rows have the time of the database
        const { created_at: createdAt } = await wrong.client().threads.get(made);
        expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(60_000);
        for (const { threadId, runId, file } of atWork) {
          await right.client().runs.join(threadId, runId);
          expect(stepsIn(file)).toEqual(['first 1', 'second 1', 'third 1']);
        }
        await waitFor(() => stepsIn(delayed.file).length > 0);
        expect(performance.now() - askedMs).toBeGreaterThan(3_500);
        const lost = await begin(right, 800);
        await waitFor(() => stepsIn(lost.file).length > 0);
        right.signal('SIGKILL');
        await waitFor(
          async () => (await wrong.client().runs.get(lost.threadId, lost.runId)).status === 'success',
        );
      } finally {
        await Promise.all([wrong.stop('SIGKILL'), right.stop('SIGKILL')]);
      }
    },
  );
});
