// Pages, traces and statistics over a day of a million runs, by HTTP. A part of the day is sent as clients send it, the rest
// is made of it by the server itself: the same rows with other ids, an hour later each time.
import { randomUUID } from 'node:crypto';
import { quantile } from '../../agent-server/numbers.mjs';
import { generatedRuns, MULTIPART, multipartBody, wholeRun } from '../generated-runs.mjs';

const DAY = '2026-10-01';
const HOURS = 24;
const TIMES = 40;
const RUNS_OF_LONG_TRACE = 1_000;
const BATCH = 500;
/** Text of one root of each hour. */
const RARE = 'Where is the quartz invoice?';

/** @param {string} id as the copy of an hour has it */
const other = (id) => `md5(${id}::text || c.by)::uuid`;
const later = (time) => `${time} + c.by * interval '1 hour'`;
const HOUR = `(SELECT $1::int AS by) c`;
const COPIES = [
  `INSERT INTO run_keys (tenant_id, id, trace_id, start_time, project_id)
    SELECT tenant_id, ${other('id')}, ${other('trace_id')}, ${later('start_time')}, project_id FROM run_keys, ${HOUR} WHERE start_time < $2`,
  `INSERT INTO runs (tenant_id, project_id, start_time, id, trace_id, parent_run_id, parent_run_ids, end_time, first_token_time,
      total_tokens, prompt_tokens, completion_tokens, is_root, name, run_type, status, dotted_order, trace_tier, tags, thread_id, search_marks)
    SELECT tenant_id, project_id, ${later('start_time')}, ${other('id')}, ${other('trace_id')}, ${other('parent_run_id')},
      ARRAY(SELECT ${other('p')} FROM unnest(parent_run_ids) p), ${later('end_time')}, ${later('first_token_time')}, total_tokens,
      prompt_tokens, completion_tokens, is_root, name, run_type, status, dotted_order, trace_tier, tags,
      thread_id || ' of hour ' || c.by, search_marks
    FROM runs, ${HOUR} WHERE start_time < $2`,
  `INSERT INTO run_payloads (tenant_id, project_id, start_time, id, trace_id, inputs, outputs, extra, events, error)
    SELECT tenant_id, project_id, ${later('start_time')}, ${other('id')}, ${other('trace_id')}, inputs, outputs, extra, events, error
    FROM run_payloads, ${HOUR} WHERE start_time < $2`,
  `INSERT INTO run_pairs (tenant_id, project_id, start_time, trace_id, run_id, kind, key, value)
    SELECT tenant_id, project_id, ${later('start_time')}, ${other('trace_id')}, ${other('run_id')}, kind, key, value
    FROM run_pairs, ${HOUR} WHERE start_time < $2`,
  `INSERT INTO run_statistics (tenant_id, project_id, hour, is_root, run_type, span, sums)
    SELECT tenant_id, project_id, ${later('hour')}, is_root, run_type, 0, sums FROM run_statistics, ${HOUR} WHERE span = 1 AND hour < $2`,
];

async function fill({ call, pool, store }, count) {
  const runs = generatedRuns({
    count: Math.ceil(count / HOURS),
    day: DAY,
    inputBytes: 300,
    outputBytes: 150,
    hours: 0.99,
  });
  const send = async (operations) => call('POST', '/runs/multipart', multipartBody(operations), MULTIPART);
  let some = [];
  for (const run of runs) {
    some.push(wholeRun(run));
    if (some.length === BATCH) await send(some.splice(0));
  }
  const id = randomUUID();
  const rare = { id, trace_id: id, name: 'rare', run_type: 'chain', session_name: 'bench' };
  some.push(
    wholeRun({ ...rare, start_time: `${DAY}T00:30:00Z`, inputs: { question: RARE }, outputs: {}, extra: {} }),
  );
  await send(some);
  await store.tidy();
  // the day is summed again, of all hours
  await pool.query('DELETE FROM run_statistics WHERE span = 2');
  for (let hour = 1; hour < HOURS; hour++)
    for (const copy of COPIES) await pool.query(copy, [hour, `${DAY}T01:00:00Z`]);
  await pool.query('UPDATE run_statistics SET span = 0 WHERE span = 1');
  await store.tidy();
  await pool.query('VACUUM ANALYZE');
  const trace = [
    ...generatedRuns({
      count: RUNS_OF_LONG_TRACE * 8,
      day: DAY,
      seed: 9,
      project: 'long',
      inputBytes: 600,
      outputBytes: 300,
    }),
  ];
  const [root] = trace;
  const long = trace.slice(0, RUNS_OF_LONG_TRACE).map((run, n) => {
    if (n === 0) return run;
    const segment = run.dotted_order.split('.').at(-1);
    return {
      ...run,
      trace_id: root.id,
      parent_run_id: root.id,
      dotted_order: `${root.dotted_order}.${segment}`,
    };
  });
  for (let from = 0; from < long.length; from += 100) await send(long.slice(from, from + 100).map(wholeRun));
  return root.id;
}

/** @returns p50 and p95 of the time, and CPU of api and Postgres for each, in milliseconds */
async function timed({ cpu }, read, times = TIMES) {
  const took = [];
  const before = cpu();
  for (let n = 0; n < times; n++) {
    const began = performance.now();
    await read(n);
    took.push(performance.now() - began);
  }
  const after = cpu();
  const both = after.api - before.api + after.postgres - before.postgres;
  return { p50: quantile(took, 0.5), p95: quantile(took, 0.95), cpu: both / times };
}

/** @param {readonly object[]} stands the first is measured */
export async function measureReads([stand], { dayRuns }) {
  const began = performance.now();
  const trace = await fill(stand, dayRuns);
  const { rows } = await stand.pool.query('SELECT count(*)::int AS n FROM runs');
  process.stdout.write(`  ${rows[0].n} runs, made in ${((performance.now() - began) / 1000).toFixed(0)} s\n`);
  const project = await stand.store.projects.find(stand.tenant, { name: 'bench' });
  const ask = (path, body) => stand.call('POST', path, Buffer.from(JSON.stringify(body)));
  const page = (wanted) => async (n) => {
    const { runs } = await ask('/runs/query', { session: [project.id], limit: 100, ...wanted(n) });
    if (runs.length === 0) throw new Error(`no run meets ${JSON.stringify(wanted(n))}`);
  };
  const time = (n) =>
    new Date(Date.parse(`${DAY}T00:10:00Z`) + ((n * 7919 * 61_000) % 80_000_000)).toISOString();
  const { parseInstant } = await stand.load('time');
  const [from, to] = ['00:00:00', '23:59:59'].map((at) =>
    parseInstant(`${DAY}T${at}Z`, { zone: 'required' }),
  );
  const times = { from, to };
  const reads = {
    'first page of a project': page(() => ({})),
    'first page of roots': page(() => ({ is_root: true })),
    'first page before a time': page((n) => ({ end_time: time(n) })),
    'first page of failures': page(() => ({ error: true })),
    'first page of a tag': page((n) => ({ filter: `has(tags, "team-${n % 7}")` })),
    'first page of a value of metadata': page((n) => ({
      filter: `and(eq(metadata_key, "user_id"), eq(metadata_value, "user-${n % 97}"))`,
    })),
    'first page of a key of metadata': page(() => ({ filter: `eq(metadata_key, "ls_provider")` })),
    'first page of threads, from the store': async () => {
      const { threads } = await stand.store.threads.list(
        stand.tenant,
        { projectId: project.id, ...times },
        { limit: 100 },
      );
      if (threads.length === 0) throw new Error('no thread was found');
    },
    'first page of threads with their number': async () => {
      const { groups, total } = await ask('/runs/group', {
        session_id: project.id,
        group_by: 'conversation',
        start_time: `${DAY}T00:00:00Z`,
        end_time: `${DAY}T23:59:59.999999Z`,
      });
      if (groups.length === 0 || total < groups.length) throw new Error('no thread was found');
    },
    [`whole trace of ${RUNS_OF_LONG_TRACE} runs, ten pages`]: async () => {
      let [found, cursor] = [0, undefined];
      do {
        const answer = await ask('/runs/query', { trace, limit: 100, ...(cursor ? { cursor } : {}) });
        found += answer.runs.length;
        cursor = answer.cursors.next;
      } while (cursor);
      if (found !== RUNS_OF_LONG_TRACE) throw new Error(`${found} runs of the trace were found`);
    },
  };
  const texts = {
    'a text of few roots': page(() => ({ filter: 'and(eq(is_root, true), search("QUARTZ invoice"))' })),
    'a text of few runs': page(() => ({ filter: 'search("quartz invoice")' })),
  };
  const day = { session: [project.id], start_time: `${DAY}T00:00:00Z`, end_time: `${DAY}T23:59:59.999999Z` };
  const sums = {
    'statistics of the day': () => ask('/runs/stats', day),
    'statistics of roots of the day': () => ask('/runs/stats', { ...day, is_root: true }),
    'statistics from the middle of an hour on': (n) => ask('/runs/stats', { ...day, start_time: time(n) }),
  };
  const found = [];
  for (const [all, least, aim] of [
    [reads, 100, 30],
    [texts, 300, 100],
    [sums, 1_000, 100],
  ])
    for (const [what, read] of Object.entries(all)) {
      // what a statement needs at its first time, every connection has behind it
      await timed(stand, read, 5);
      const { p50, p95, cpu } = await timed(stand, read);
      process.stdout.write(
        `  ${what}: p50 ${p50.toFixed(1)}, p95 ${p95.toFixed(1)} ms, CPU ${cpu.toFixed(1)} ms\n`,
      );
      found.push({
        what: `${what}, p95`,
        unit: 'ms',
        ours: p95,
        peers: {},
        least: { below: least },
        aim: { below: aim },
      });
    }
  return found;
}
