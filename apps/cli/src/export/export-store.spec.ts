import { parseFilter } from '#lib/filter-language';
import { RestError, type RestRequests } from '#lib/rest-client';
import type { VerifiedExport, VerifiedRun, Findings } from './export-bucket.js';
import { compareStore } from './export-store.js';

const DAY = '2026-11-20T00:00:00Z';
const run: VerifiedRun = {
  start_time: DAY,
  end_time: '2026-11-21T00:00:00Z',
  rows_exported: 5,
  metadata: { result: { feedback_rows_written: 250, exported_files: [] } },
};
const plain: VerifiedExport = {
  id: 'own',
  tenant_id: 't',
  session_id: 's',
  format_version: 'v1',
  filter: null,
  rows_exported: 5,
  resources: ['runs', 'feedback'],
  late_runs_of_bulk_export_id: null,
};
const late: VerifiedExport = { ...plain, resources: ['runs'], late_runs_of_bulk_export_id: 'former' };

/** Answers of the api; a number refuses the request with that status. */
interface World {
  readonly stored?: number;
  /** Runs with feedback. */
  readonly runs?: number;
  /** Feedback of each page of these. */
  readonly feedback?: number;
  readonly former?: number | string;
  readonly own?: number | string;
  readonly refusals?: Readonly<Record<string, number>>;
}

/** The requests that were made are counted. */
class Rest implements RestRequests {
  readonly asked: { readonly path: string; readonly body: unknown }[] = [];
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  request<T>(_method: string, path: string, body?: unknown): Promise<T> {
    this.asked.push({ path, body });
    const [route = ''] = path.split('?');
    const status = this.#world.refusals?.[route];
    if (status !== undefined) return Promise.reject(new RestError(status, 'it was refused'));
    return Promise.resolve(this.#answer(route, path, body) as T);
  }

  #answer(route: string, path: string, body: unknown): unknown {
    const { stored = 5, runs = 0, feedback = 0, former = 5, own = 0 } = this.#world;
    if (route === '/runs/stats') return { run_count: stored };
    if (route === '/runs/query') {
      const begin = Number((body as { cursor?: string }).cursor ?? 0);
      const page = Math.min(100, runs - begin);
      const next = begin + page < runs ? String(begin + page) : null;
      return { runs: Array.from({ length: page }, (_, n) => ({ id: `${begin + n}` })), cursors: { next } };
    }
    if (route === '/feedback') {
      const offset = Number(new URLSearchParams(path.split('?')[1]).get('offset'));
      return Array.from({ length: Math.max(0, Math.min(100, feedback - offset)) }, () => ({}));
    }
    const count = path.includes('former') ? former : own;
    const known = typeof count === 'number';
    return {
      days: [{ start_time: DAY, late_runs: known ? count : null, unknown: known ? null : count }],
    };
  }
}

function compare(found: VerifiedExport, world: World, countsFeedback = true): Promise<Findings> {
  return compareStore(found, [run], new Rest(world), { countsFeedback });
}

const FORMER = '/api/v1/bulk-exports/former/late';

describe('comparing with the trace store', () => {
  it.each<[string, VerifiedExport, World, readonly unknown[], readonly unknown[]]>([
    ['an export as it should be', plain, { runs: 3, feedback: 250 }, [], []],
    [
      'a run too many',
      plain,
      { stored: 6, runs: 3, feedback: 250 },
      [expect.stringMatching(/: 5 rows exported, the trace store has 6 now; /)],
      [],
    ],
    [
      'feedback of several pages of runs',
      plain,
      { runs: 250, feedback: 100 },
      [expect.stringMatching(/: 250 feedback exported, the trace store has 300 now; /)],
      [],
    ],
    [
      'runs that take too long to count',
      plain,
      { runs: 3, feedback: 250, refusals: { '/runs/stats': 400 } },
      [],
      [expect.stringMatching(/^rows from .* with the trace store: it was refused$/)],
    ],
    [
      'a filter that takes no further condition',
      plain,
      { refusals: { '/runs/query': 400 } },
      [],
      [expect.stringMatching(/^feedback from .* with the trace store: it was refused$/)],
    ],
    ['late runs', late, {}, [], []],
    ['late runs beside those that came since', late, { former: 7, own: 2 }, [], []],
    ['late runs that changed since', late, { former: 5, own: 5 }, [], []],
    [
      'a late run that is not exported',
      late,
      { former: 8, own: 2 },
      [expect.stringMatching(/: 5 rows exported, export former has 8 late runs now, 2 of which came/)],
      [],
    ],
    [
      'a late run that was removed',
      late,
      { former: 4 },
      [expect.stringMatching(/: 5 rows exported, export former has 4 late runs now; /)],
      [],
    ],
    [
      'late runs that take too long to count',
      late,
      { former: 'too_long' },
      [],
      [expect.stringMatching(/late runs of export former are unknown: too long$/)],
    ],
    [
      'late runs of which nothing says what came since',
      late,
      { former: 7, own: 'no_mark' },
      [],
      [
        expect.stringMatching(
          /5 of 7 late runs of export former exported, those that came since are unknown: no mark$/,
        ),
      ],
    ],
    [
      'late runs of an export that was deleted',
      late,
      { refusals: { [FORMER]: 404 } },
      [],
      ['rows with the trace store: export former, whose late runs they are, was deleted'],
    ],
  ])('judges %s', async (_name, found, world, differences, notCompared) => {
    expect(await compare(found, world)).toEqual({ differences, notCompared });
  });

  it('counts no feedback where none is wanted', async () => {
    expect(await compare(plain, {}, false)).toEqual({ differences: [], notCompared: [] });
  });

  it('ends a day with its last microsecond, and leaves the filter as it is', async () => {
    const rest = new Rest({});
    const filter = 'eq(status, "error")';
    await compareStore({ ...plain, filter }, [run], rest, { countsFeedback: false });
    expect(rest.asked.map(({ body }) => body)).toEqual([
      { session: ['s'], start_time: DAY, end_time: '2026-11-20T23:59:59.999999Z', filter },
    ]);
  });

  it('asks for runs with feedback beside the conditions of the filter', async () => {
    const rest = new Rest({});
    const filter = 'eq(feedback_key, "k")';
    await compareStore({ ...plain, filter }, [run], rest, { countsFeedback: true });
    const asked = String(
      (rest.asked.find(({ path }) => path === '/runs/query')?.body as { filter: string }).filter,
    );
    expect(asked).toContain(`and(${filter}, and(`);
    expect(() => parseFilter(asked)).not.toThrow();
  });

  it('fails where the trace store does not answer', async () => {
    await expect(compare(plain, { refusals: { '/runs/stats': 503 } })).rejects.toThrow('it was refused');
  });
});
