import { testPostgres } from '#lib/testing';
import { KilledAttempts } from '../faults/export/killed-attempts.js';

const FILES = Number(process.env.EXPORT_FILES ?? 50);

/** SIGKILL of the worker at every request to the object store and every write of progress, with and without its effect. */
describe('an export whose attempts are killed everywhere', () => {
  const postgres = testPostgres();
  let killed: KilledAttempts;

  beforeAll(async () => {
    killed = await KilledAttempts.start((await postgres.freshDatabase()).uri, FILES);
  }, 60_000);
  afterAll(() => killed.stop());

  it.each([true, false])(
    'keeps every row once after a kill at any request (done: %s)',
    async (isDone) => {
      const { calls } = await killed.undisturbed();
      for (const [at, call] of calls.entries())
        expect(await killed.killAt([{ side: 'store', number: at + 1, isDone }])).toEqual([call]);
      process.stderr.write(`| ${calls.length} requests killed, done: ${isDone} |\n`);
    },
    3_600_000,
  );

  it.each([true, false])(
    'keeps every row once after a kill at any write of progress (done: %s)',
    async (isDone) => {
      let number = 0;
      for (let isReached = true; isReached;) {
        const [reached] = await killed.killAt([{ side: 'progress', number: ++number, isDone }]);
        isReached = reached !== undefined;
      }
      expect(number).toBeGreaterThan(4 * FILES);
      process.stderr.write(`| ${number - 1} writes killed, done: ${isDone} |\n`);
    },
    3_600_000,
  );
});
