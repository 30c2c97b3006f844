// A stream whose server drains, or is killed, and goes on at another: how long its reader gets no event, without the
// pause that an SDK makes before it comes back.
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../numbers.mjs';
import { startOurs } from '../servers.mjs';

const LEASE_MS = 5_000;
const ENV = { AGENTPLANE_RUN_LEASE_MS: String(LEASE_MS), AGENTPLANE_DRAIN_MS: '500' };
const COME_BACK_MS = 10;
/** Tokens, one every 5 ms: beyond what the test takes. */
const TOKENS = 5_000;

/** Reads events of one answer; `seen` gets each id. @returns {Promise<string | undefined>} its location, once it ended */
function read(port, method, path, { body, lastId }, seen) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', ...(lastId ? { 'last-event-id': lastId } : {}) };
    const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
      if (response.statusCode !== 200) {
        response.resume();
        return resolve(undefined);
      }
      const { location } = response.headers;
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part) => {
        text += part;
        const events = text.split('\n\n');
        text = events.pop();
        for (const event of events) {
          const id = /^id: (.*)$/m.exec(event)?.[1];
          if (id !== undefined) seen(id, location);
        }
      });
      response.on('close', () => resolve(location));
    });
    sent.on('error', () => resolve(undefined));
    sent.setTimeout(60_000, () => reject(new Error('no answer')));
    sent.end(body);
  });
}

/** @returns {Promise<number>} milliseconds between the last event of the first attempt and the first of the second */
async function gap(uri, end) {
  const from = await startOurs('first', uri, ENV);
  let to;
  try {
    let [lastId, location, lastAt, longest, isOver] = [undefined, undefined, 0, 0, false];
    const seen = (id, at) => {
      const now = performance.now();
      if (lastId?.split('-')[0] === '1' && id.startsWith('2-')) {
        longest = now - lastAt;
        isOver = true;
      }
      [lastId, location, lastAt] = [id, at ?? location, now];
    };
    const { port } = from;
    const body = JSON.stringify({
      assistant_id: 'paced',
      input: { text: String(TOKENS) },
      stream_mode: 'custom',
    });
    const first = read(port, 'POST', '/runs/stream', { body }, seen);
    while (lastAt === 0 || Number(lastId.split('-')[1]) < 100) await sleep(10);
    // only now: it would share the queue, and the run might be at work there
    to = await startOurs('second', uri, ENV);
    const ended = end(from);
    await first;
    // one reading at a time; the second attempt ends the loop, its stream is left to the end of the server
    void (async () => {
      while (!isOver) {
        await read(to.port, 'GET', location, { lastId }, seen);
        await sleep(COME_BACK_MS);
      }
    })();
    for (let waited = 0; !isOver; waited += 10) {
      if (waited > 60_000) throw new Error(`no event of a second attempt after ${lastId}`);
      await sleep(10);
    }
    await ended;
    return longest;
  } finally {
    from.kill();
    to?.kill();
  }
}

export async function rollout({ freshDatabase, rounds }) {
  const ways = { drain: (server) => server.stop(), SIGKILL: (server) => server.kill() };
  const found = {};
  for (const [way, end] of Object.entries(ways)) {
    const gaps = [];
    for (let round = 1; round <= rounds; round++) {
      gaps.push(await gap(await freshDatabase(), end));
      process.stdout.write(`  ${round} ${way}: ${gaps.at(-1).toFixed(0)} ms without events\n`);
    }
    found[way] = median(gaps);
  }
  return [
    {
      ...{ what: 'stream through a drain: without events', unit: 'ms', ours: found.drain, peers: {} },
      ...{ least: { below: 500 }, aim: { below: 50 } },
    },
    {
      ...{
        what: `stream through a SIGKILL, beyond the lease of ${LEASE_MS / 1000} s`,
        unit: 'ms',
        peers: {},
      },
      ...{ ours: found.SIGKILL - LEASE_MS, least: { below: 1000 }, aim: { below: 0 } },
    },
  ];
}
