// Small requests: a trivial run without a thread, one on a new thread, and threads alone.
import { byCallers, inTurns } from '../numbers.mjs';
import { rowsOf } from '../rows.mjs';

const BODY = { assistant_id: 'echo', input: { text: 'hello' } };

function expectEcho(values) {
  if (values.echoed !== 'hello') throw new Error(`wrong answer: ${JSON.stringify(values)}`);
}

async function waitOf({ client }) {
  const operation = async () => expectEcho(await client.post('/runs/wait', BODY));
  await byCallers(32, { seconds: 1 }, operation);
  const alone = await byCallers(1, { seconds: 4, most: 300 }, operation);
  const many = await byCallers(32, { seconds: 4 }, operation);
  return { 'p50 alone': alone.p50, 'runs/s': many.perSecond, 'p50 of 32': many.p50 };
}

export async function wait({ servers, rounds }) {
  const found = await inTurns(servers, rounds, waitOf);
  return [
    ...rowsOf(found, 'p50 alone', {
      ...{ what: 'stateless wait, p50', unit: 'ms', least: { below: 3 }, aim: { below: 2 } },
    }),
    ...rowsOf(found, 'runs/s', {
      ...{ what: 'stateless wait, 32 callers', unit: '/s', least: { times: 4.5 }, aim: { times: 6 } },
    }),
  ];
}

async function threadWaitOf({ client }) {
  const operation = async () => {
    const { thread_id } = await client.post('/threads', {});
    expectEcho(await client.post(`/threads/${thread_id}/runs/wait`, BODY));
  };
  await byCallers(32, { seconds: 1 }, operation);
  const many = await byCallers(32, { seconds: 5 }, operation);
  return { 'runs/s': many.perSecond, 'p50 of 32': many.p50 };
}

export async function threadWait({ servers, rounds }) {
  const found = await inTurns(servers, rounds, threadWaitOf);
  return rowsOf(found, 'runs/s', {
    ...{ what: 'new thread and wait, 32 callers', unit: '/s', least: { times: 4 }, aim: { times: 6 } },
  });
}

async function threadsOf({ client }) {
  const operation = async () => {
    const { thread_id } = await client.post('/threads', {});
    await client.call('GET', `/threads/${thread_id}`);
    await client.call('DELETE', `/threads/${thread_id}`);
  };
  await byCallers(8, { seconds: 0.5 }, operation);
  const many = await byCallers(8, { seconds: 4 }, operation);
  return { 'threads/s': many.perSecond, 'p50 of 8': many.p50 };
}

export async function threads({ servers, rounds }) {
  const found = await inTurns(servers, rounds, threadsOf);
  return rowsOf(found, 'threads/s', {
    ...{
      what: 'thread create, get, delete, 8 callers',
      unit: '/s',
      least: { times: 1 },
      aim: { times: 1.5 },
    },
  });
}
