import { waitFor } from '#lib/testing';
import { testServer } from '../testdata/test-server.js';

describe('what a server says of itself', () => {
  const server = testServer();

  const get = (path: string): Promise<Response> => fetch(`${server.url}${path}`);

  it('counts its runs in the text of Prometheus and as JSON', async () => {
    await server.client().runs.wait(null, 'counter', { input: {} });
    const answer = await get('/metrics');
    expect(answer.headers.get('content-type')).toContain('text/plain');
    const text = await answer.text();
    expect(text).toMatch(/^agentplane_agent_run_attempts_total\{outcome="success"\} 1$/m);
    expect(text).toMatch(/^agentplane_agent_runs_queued 0$/m);
    expect(text).toMatch(/^agentplane_event_loop_busy_ratio 0\.\d+/m);
    expect(text).toMatch(/^agentplane_event_loop_lag_seconds /m);
    expect(text).toMatch(/^agentplane_agent_unsent_bytes 0$/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d+/m);
    expect(await (await get('/metrics?format=json')).json()).toContainEqual(
      expect.objectContaining({
        name: 'agentplane_agent_stream_readers',
        values: [{ labels: {}, value: 0 }],
      }),
    );
    expect((await get('/metrics?format=xml')).status).toBe(400);
  });

  it('names run and thread on the lines of a run that failed, and where it failed', async () => {
    const client = server.client();
    const { thread_id } = await client.threads.create();
    const run = await client.runs.create(thread_id, 'failing', { input: {} });
    await client.runs.join(thread_id, run.run_id);
    const line = await waitFor(() => server.log.find(({ msg }) => msg === 'run failed'));
    expect(line).toMatchObject({
      level: 'warn',
      run_id: run.run_id,
      thread_id,
      err: {
        type: expect.any(String),
        message: expect.any(String),
        stack: expect.stringMatching(/graphs\.ts:\d+:\d+/),
      },
    });
  });

  it('describes its routes as a document and as a page', async () => {
    const document = (await (await get('/openapi.json')).json()) as { openapi: string; paths: object };
    expect(document).toMatchObject({
      openapi: '3.1.0',
      paths: { '/runs/wait': { post: {} }, '/docs': { get: {} } },
    });
    const page = await get('/docs');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await page.text()).toContain('<code>/runs/wait</code>');
  });
});
