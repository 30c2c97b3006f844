import { testPostgres } from '#lib/testing';
import { atProgress, atStore, type KillPoint } from '../faults/export/kill-point.js';
import { KilledAttempts } from '../faults/export/killed-attempts.js';

const FILES = Number(process.env.EXPORT_FILES ?? 50);
const BOTH = [false, true] as const;
const files = Array.from({ length: FILES }, (_, n) => n + 1);

/** Kills after which the file is written again by the next attempt, which is killed at the next of them. */
function unfinished(file: number): readonly KillPoint[] {
  return [
    ...BOTH.map((isDone) => atProgress('name part', file, isDone)),
    ...BOTH.map((isDone) => atStore('begin upload', file, isDone)),
    ...BOTH.map((isDone) => atProgress('name upload', file, isDone)),
    ...BOTH.map((isDone) => atStore('send part', file, isDone)),
    ...BOTH.map((isDone) => atProgress('name rows', file, isDone)),
    atStore('complete upload', file, false),
  ];
}

/** Kills after which the file lies in the bucket: one for a file and export. */
const FINISHED: readonly ((file: number) => KillPoint)[] = [
  (file) => atStore('complete upload', file, true),
  (file) => atStore('look at object', file, false),
  (file) => atStore('look at object', file, true),
  (file) => atProgress('add file', file, false),
  (file) => atProgress('add file', file, true),
];

const ENDS = [
  ...BOTH.map((isDone) => atStore('write manifest', 0, isDone)),
  ...BOTH.map((isDone) => atProgress('finish', 0, isDone)),
];

/** A kill of an attempt, and then of the one that clears up after it. */
const CLEARING: readonly ((file: number) => readonly KillPoint[])[] = BOTH.flatMap((isDone) => [
  (file: number) => [atStore('begin upload', file, true), atStore('list uploads', file, isDone)],
  (file: number) => [atStore('send part', file, true), atStore('abort upload', file, isDone)],
  (file: number) => [atStore('send part', file, true), atProgress('clear intent', file, isDone)],
  (file: number) => [atStore('complete upload', file, true), atStore('look at object', file, isDone)],
  (file: number) => [atStore('complete upload', file, true), atProgress('add file', file, isDone)],
]);

const EXPORTS: readonly (readonly [string, readonly KillPoint[]])[] = [
  [
    'every step before a file is in the bucket',
    [...BOTH.map((isDone) => atProgress('claim', 0, isDone)), ...files.flatMap(unfinished), ...ENDS],
  ],
  ...FINISHED.map((pointOf) => {
    const { step, isDone } = pointOf(1);
    return [`${step} of every file (done: ${isDone})`, files.map(pointOf)] as const;
  }),
  ['every step that clears up', files.flatMap((file) => CLEARING[file % CLEARING.length]?.(file) ?? [])],
];

const nameOf = ({ side, step, file, isDone }: KillPoint): string =>
  `${side}: ${step} ${file}, done: ${isDone}`;

/**
 * SIGKILL of the worker at every request to the object store and every write of progress, with and without its effect.
 * Each attempt goes on where the former one was killed, so that an export takes hundreds of kills.
 */
describe('an export whose attempts are killed everywhere', () => {
  const postgres = testPostgres();
  let killed: KilledAttempts;

  beforeAll(async () => {
    killed = await KilledAttempts.start((await postgres.freshDatabase()).uri, FILES);
  });
  afterAll(() => {
    process.stderr.write(`| ${FILES} files, ${killed.kills} kills |\n`);
    return killed.stop();
  });

  it('meets a kill at everything that an undisturbed one does', async () => {
    const { calls, writes } = await killed.undisturbed();
    const steps = [...calls, ...writes].flatMap((step) => BOTH.map((isDone) => ({ ...step, isDone })));
    const points = new Set(EXPORTS.flatMap(([, one]) => one).map(nameOf));
    expect(steps.map(nameOf).filter((name) => !points.has(name))).toEqual([]);
    expect(steps.length).toBe(2 * (8 * FILES + 3));
  });

  it.each(EXPORTS)('keeps every row once after kills at %s', (_name, points) => killed.killAt(points));
});
