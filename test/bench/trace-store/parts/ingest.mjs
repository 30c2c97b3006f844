// Runs by HTTP and multipart through an api process, beside psql COPY of the same rows, round by round.
import { median } from '../../agent-server/numbers.mjs';
import { clear, copyFloor } from '../floor.mjs';
import { generatedRuns, MULTIPART, multipartBody, runInTwoParts, wholeRun } from '../generated-runs.mjs';

const batches = (list, size) =>
  Array.from({ length: Math.ceil(list.length / size) }, (_one, n) => list.slice(n * size, (n + 1) * size));

/** Requests in the order in which each sender sends its next; those of one list one after another. */
const SHAPES = {
  whole: {
    senders: 2,
    share: 1,
    of: (runs) => batches(runs.map(wholeRun), 100).map((some) => [multipartBody(some)]),
  },
  parts: {
    ...{ senders: 2, share: 1 },
    of: (runs) =>
      batches(runs.map(runInTwoParts), 100).map((some) => [
        multipartBody(some.map(({ post }) => ({ post }))),
        multipartBody(some.map(({ patch }) => ({ patch }))),
      ]),
  },
  single: { senders: 16, share: 0.25, of: (runs) => runs.map((run) => [multipartBody([wholeRun(run)])]) },
};

/** @returns CPU milliseconds of each run, of api and Postgres */
async function send(stand, { senders, of }, runs) {
  const requests = of(runs);
  await clear(stand);
  const before = stand.cpu();
  const next = requests[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: senders }, async () => {
      for (const bodies of next)
        for (const body of bodies) await stand.call('POST', '/runs/multipart', body, MULTIPART);
    }),
  );
  const after = stand.cpu();
  const { rows } = await stand.pool.query('SELECT count(*)::int AS n FROM runs');
  if (rows[0].n !== runs.length) throw new Error(`${rows[0].n} of ${runs.length} runs were stored`);
  return {
    api: (after.api - before.api) / runs.length,
    postgres: (after.postgres - before.postgres) / runs.length,
  };
}

/** @param {readonly object[]} stands */
export async function measureIngest(stands, { runs: count, rounds }) {
  const found = new Map(stands.map((stand) => [stand, []]));
  let day = 1;
  const runsOf = (share) => [
    ...generatedRuns({
      count: Math.round(count * share),
      day: `2026-11-${String(day).padStart(2, '0')}`,
      seed: day,
    }),
  ];
  for (const stand of stands) await send(stand, SHAPES.whole, runsOf(0.2));
  for (let round = 1; round <= rounds; round++) {
    day++;
    for (const stand of stands) {
      const whole = await send(stand, SHAPES.whole, runsOf(1));
      const copied = await copyFloor(stand);
      const floor = (copied.postgres + copied.psql) / count;
      const parts = await send(stand, SHAPES.parts, runsOf(SHAPES.parts.share));
      const single = await send(stand, SHAPES.single, runsOf(SHAPES.single.share));
      const both = ({ api, postgres }) => api + postgres;
      const figures = {
        floor,
        ...{ wholeApi: whole.api, wholePostgres: whole.postgres, share: (floor / both(whole)) * 100 },
        ...{ partsApi: parts.api, partsPostgres: parts.postgres, partsRatio: both(parts) / both(whole) },
        ...{ singleApi: single.api, singlePostgres: single.postgres },
      };
      found.get(stand).push(figures);
      const shown = Object.entries(figures).map(([what, figure]) => `${what} ${figure.toFixed(3)}`);
      process.stdout.write(`  ${round} ${stand.name} ${shown.join(', ')}\n`);
    }
  }
  const [own, ...others] = stands.map((stand) => {
    const all = found.get(stand);
    return Object.fromEntries(
      Object.keys(all[0]).map((what) => [what, median(all.map((figures) => figures[what]))]),
    );
  });
  const row = (what, unit, name, least, aim) => ({
    ...{ what, unit, ours: own[name], least, aim },
    peers: Object.fromEntries(others.map((figures, n) => [`other ${n + 1}`, figures[name]])),
  });
  const info = { below: Infinity };
  return [
    row(
      'multipart, 100 whole runs a request: rate by CPU, of psql COPY',
      '%',
      'share',
      { above: 45 },
      { above: 60 },
    ),
    row('psql COPY of the same rows, psql and Postgres, a run', 'ms', 'floor', info, info),
    row('api CPU a run, 100 a request', 'ms', 'wholeApi', { below: 0.12 }, { below: 0.08 }),
    row('Postgres CPU a run, 100 a request', 'ms', 'wholePostgres', info, info),
    row('api CPU a run, 1 a request, 16 senders', 'ms', 'singleApi', { below: 0.8 }, { below: 0.4 }),
    row('Postgres CPU a run, 1 a request, 16 senders', 'ms', 'singlePostgres', info, info),
    row('post, then patch: CPU of whole runs', '×', 'partsRatio', { below: 1.5 }, { below: 1.25 }),
  ];
}
