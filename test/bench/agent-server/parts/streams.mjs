// Streams: one alone, 64 at once of an agent that waits for its model, and 64 whose tokens come as fast as they can.
import { median, quantile, inTurns } from '../numbers.mjs';
import { cpuOf } from '../process-tree.mjs';
import { rowsOf } from '../rows.mjs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const STREAMS = 64;
const PACED = { assistant_id: 'paced', input: { text: 'a' }, stream_mode: 'custom' };
const BURST = {
  assistant_id: 'tokens',
  input: { messages: [{ role: 'user', content: 'hello' }] },
  stream_mode: ['values', 'messages-tuple'],
};

/** @returns what `count` streams at once came to */
async function streamsOf(client, count, body, event) {
  const begun = performance.now();
  const all = await Promise.all(Array.from({ length: count }, () => client.stream(body, event)));
  const seconds = (performance.now() - begun) / 1000;
  const of = (figure) => median(all.map((one) => one[figure]));
  return {
    'streams/s': count / seconds,
    'events/s': all.reduce((sum, { events }) => sum + events, 0) / seconds,
    'first event': of('first'),
    'first token': of('firstToken'),
    'last first token': quantile(
      all.map(({ firstToken }) => firstToken),
      1,
    ),
    lag: of('lag'),
  };
}

async function aloneOf({ client }) {
  const [first, firstToken, lag] = [[], [], []];
  for (let n = 0; n < 10; n++) {
    const one = await client.stream(PACED, 'custom');
    first.push(one.first);
    firstToken.push(one.firstToken);
    lag.push(one.lag);
  }
  return {
    'first event': median(first),
    'first token (5 ms in the graph)': median(firstToken),
    lag: median(lag),
  };
}

export async function alone({ servers, rounds }) {
  for (const { client } of servers) for (let n = 0; n < 5; n++) await client.stream(PACED, 'custom');
  const found = await inTurns(servers, rounds, aloneOf);
  return [
    ...rowsOf(found, 'first event', {
      ...{ what: 'first streamed event, alone, p50', unit: 'ms', least: { below: 2.4 }, aim: { below: 2 } },
    }),
    ...rowsOf(found, 'lag', {
      ...{ what: 'lag after the last token, alone, p50', unit: 'ms', least: { below: 2 }, aim: { below: 1 } },
    }),
  ];
}

export async function paced({ servers, rounds }) {
  for (const { client } of servers) await streamsOf(client, 8, PACED, 'custom');
  const found = await inTurns(servers, rounds, ({ client }) => streamsOf(client, STREAMS, PACED, 'custom'));
  return [
    ...rowsOf(found, 'streams/s', {
      ...{ what: '64 paced streams: finished', unit: '/s', least: { above: 40 }, aim: { above: 58 } },
    }),
    ...rowsOf(found, 'first token', {
      ...{
        what: '64 paced streams: first token, p50',
        unit: 'ms',
        least: { below: 300 },
        aim: { below: 50 },
      },
    }),
    ...rowsOf(found, 'first event', {
      ...{
        what: '64 paced streams: first event, p50',
        unit: 'ms',
        least: { below: 100 },
        aim: { below: 30 },
      },
    }),
    ...rowsOf(found, 'lag', {
      ...{ what: '64 paced streams: lag after the last token, p50', unit: 'ms' },
      ...{ least: { below: 10 }, aim: { below: 5 } },
    }),
  ];
}

export async function burst({ servers, rounds }) {
  for (const { client } of servers) await streamsOf(client, STREAMS, BURST, 'messages');
  const found = await inTurns(servers, rounds, ({ client }) => streamsOf(client, STREAMS, BURST, 'messages'));
  return rowsOf(found, 'events/s', {
    ...{ what: '64 streams of 200 tokens: events', unit: '/s', least: { times: 3 }, aim: { times: 4 } },
  });
}

const CPU_RUNS = 60;

async function cpuOfRuns({ name, client, pid, interpreter }) {
  if (name === 'engine') return { 'CPU ms a run': engineCpu(interpreter) };
  for (let run = 0; run < 10; run++) await client.stream(BURST, 'messages');
  const before = cpuOf(pid);
  for (let run = 0; run < CPU_RUNS; run++) await client.stream(BURST, 'messages');
  const each = [...cpuOf(pid)].map(([one, cpuMs]) => [one, (cpuMs - (before.get(one) ?? 0)) / CPU_RUNS]);
  const server = each.find(([one]) => one === pid)[1];
  return { 'CPU ms a run': each.reduce((sum, [, ms]) => sum + ms, 0), 'of it the first process': server };
}

function engineCpu(interpreter) {
  const file = join(import.meta.dirname, '..', interpreter ? 'engine.py' : 'engine.mjs');
  const { stdout } = spawnSync(interpreter ?? process.execPath, [file, String(CPU_RUNS)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return Number(stdout);
}

/** What the server takes beside its graph host, in which the engine runs. */
export async function cpu({ servers, rounds, interpreter }) {
  const found = await inTurns([...servers, { name: 'engine', interpreter }], rounds, cpuOfRuns);
  const { engine, ...all } = Object.fromEntries(found);
  const beyond = new Map(
    Object.entries(all).map(([name, figures]) => [
      name,
      { ms: figures['CPU ms a run'] - engine['CPU ms a run'] },
    ]),
  );
  process.stdout.write(`  the bare engine: ${engine['CPU ms a run'].toFixed(1)} ms a run\n`);
  return rowsOf(beyond, 'ms', {
    ...{
      what: 'CPU per 200-token run beyond the bare engine',
      unit: 'ms',
      least: { below: 9 },
      aim: { below: 6 },
    },
  });
}
