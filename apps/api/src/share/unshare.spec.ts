import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { testApi } from '../testdata/test-api.js';

const { api, tenant } = testApi();
const AT = '20260101T000000000000Z';
/** Ids in their order: a search by the run alone finds the first one first. */
let [first, second] = ['', ''];
/** A run of both traces. */
let run = '';

beforeEach(() => {
  [first, second] = [randomUUID(), randomUUID()].sort() as [string, string];
  run = randomUUID();
});

/** Sends a trace with the run below its root, into the project. */
async function send(trace: string, project: string): Promise<void> {
  const shared = { trace_id: trace, name: 'n', run_type: 'chain', session_name: project };
  const root = { ...shared, id: trace, dotted_order: `${AT}${trace}`, start_time: '2026-01-01T00:00:00Z' };
  const below = { ...root, id: run, parent_run_id: trace, dotted_order: `${AT}${trace}.${AT}${run}` };
  await tenant.call('POST', '/runs/batch', { post: [root, below], patch: [] });
}

const projectOf = async (trace: string) =>
  ((await tenant.call('GET', `/runs/${trace}`)).json as { session_id: string }).session_id;

interface Link {
  readonly share_token?: string;
}

/** The trace that the answered link opens. */
async function opened({ json }: { readonly json: unknown }): Promise<string | number> {
  const answer = await fetch(`${api.url}/public/${(json as Link).share_token}/run`);
  return answer.ok ? ((await answer.json()) as { id: string }).id : answer.status;
}

describe('ending the link of a run that stands in two traces', () => {
  it.each([
    ['/runs', undefined],
    ['/api/v2/runs', {}],
  ])('closes the link that was made before the second, at %s', async (base, body) => {
    await send(second, 'p');
    const link = await tenant.call('PUT', `/runs/${run}/share`, {});
    await send(first, 'p');
    expect(await opened(link)).toBe(second);
    expect((await tenant.call('DELETE', `${base}/${run}/share`, body)).status).toBe(204);
    expect(await opened(link)).toBe(404);
  });

  it('closes the links of both', async () => {
    const links = [];
    for (const trace of [first, second]) {
      await send(trace, 'p');
      links.push(await tenant.call('PUT', `/runs/${trace}/share`, {}));
    }
    expect((await tenant.call('DELETE', `/runs/${run}/share`)).status).toBe(204);
    for (const link of links) expect(await opened(link)).toBe(404);
  });

  it('leaves the link of another project open when the request names its own', async () => {
    const links = [];
    for (const [trace, project] of [
      [first, 'p'],
      [second, 'q'],
    ] as const) {
      await send(trace, project);
      links.push(await tenant.call('PUT', `/runs/${trace}/share`, {}));
    }
    const body = { session_id: await projectOf(first) };
    expect((await tenant.call('DELETE', `/api/v2/runs/${run}/share`, body)).status).toBe(204);
    expect(await Promise.all(links.map(opened))).toEqual([404, second]);
  });
});

describe('sharing a run that stands in two traces', () => {
  it('answers 409 where the request names neither project nor trace', async () => {
    await send(first, 'p');
    await send(second, 'p');
    for (const [method, base] of [
      ['PUT', '/runs'],
      ['POST', '/api/v2/runs'],
    ] as const) {
      const { status, json } = await tenant.call(method, `${base}/${run}/share`, {});
      expect(status).toBe(409);
      expect(json).toEqual({ detail: expect.stringMatching(/several traces; .*session_id.*trace_id/) });
    }
    expect((await tenant.call('GET', `/runs/${run}/share`)).json).toEqual({});
  });

  it('shares the trace of the project that the request names', async () => {
    await send(first, 'p');
    await send(second, 'q');
    for (const trace of [first, second]) {
      const body = { session_id: await projectOf(trace) };
      expect(await opened(await tenant.call('POST', `/api/v2/runs/${run}/share`, body))).toBe(trace);
    }
    const elsewhere = { session_id: randomUUID() };
    expect((await tenant.call('POST', `/api/v2/runs/${run}/share`, elsewhere)).status).toBe(404);
  });

  it('shares the trace that the request names', async () => {
    await send(first, 'p');
    await send(second, 'p');
    for (const trace of [second, first]) {
      const link = await tenant.call('POST', `/api/v2/runs/${run}/share`, { trace_id: trace });
      expect(await opened(link)).toBe(trace);
      const answers = await tenant.call('GET', `/runs/${run}/share`);
      // with one of them shared the run has one link, with both it has none
      if (trace === second) expect(answers.json).toMatchObject(link.json as Link);
      else expect(answers.status).toBe(409);
    }
  });
});

describe('ending the link by the id of the trace', () => {
  it('closes the link of a trace whose root has not arrived', async () => {
    const below = {
      id: run,
      trace_id: first,
      parent_run_id: first,
      dotted_order: `${AT}${first}.${AT}${run}`,
    };
    const more = { name: 'n', run_type: 'chain', session_name: 'p', start_time: '2026-01-01T00:00:00Z' };
    await tenant.call('POST', '/runs', { ...below, ...more });
    const { json } = await tenant.call('POST', `/api/v2/runs/${run}/share`, {});
    const path = `${api.url}/public/${(json as Link).share_token}/run/${run}`;
    expect((await fetch(path)).status).toBe(200);
    expect((await tenant.call('DELETE', `/api/v2/runs/${first}/share`, {})).status).toBe(204);
    expect((await fetch(path)).status).toBe(404);
  });
});
