import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import { testServer } from '../testdata/test-server.js';

const folderOf = (name: string): string => join(import.meta.dirname, '..', 'testdata', name);
const python = process.env['AGENTPLANE_TEST_PYTHON'];
if (!python)
  process.stderr.write('SKIPPED: traces of runs in Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

const LANGUAGES: readonly (readonly [string, string])[] = [
  ['JavaScript', 'agent'],
  ...(python ? ([['Python', 'python-agent']] as const) : []),
];

/** Takes what a tracing SDK sends. */
const seen: string[] = [];
const receiver = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    seen.push(Buffer.concat(parts).toString());
    response.setHeader('content-type', 'application/json').end('{}');
  });
}).listen(0, '127.0.0.1');
await once(receiver, 'listening');
afterAll(() => void receiver.close());

describe.each(LANGUAGES)('the trace of a cancelled run in %s', (_language, folder) => {
  const env: Record<string, string> = {
    AGENTPLANE_PYTHON: python ?? '',
    LANGSMITH_TRACING: 'true',
    LANGSMITH_ENDPOINT: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`,
    LANGSMITH_API_KEY: 'key',
  };
  const server = testServer({ folder: folderOf(folder), env });

  it('has the reason in its error', async () => {
    const client = server.client();
    const { thread_id: threadId } = await client.threads.create();
    const input = { waitMs: 1_000_000, ms: 2_000 };
    const { run_id: runId } = await client.runs.create(threadId, 'slow', { input });
    await waitFor(() => seen.some((text) => text.includes(runId)));
    const query = 'wait=1&cancel_reason=out%20of%20budget';
    await fetch(`${server.url}/threads/${threadId}/runs/${runId}/cancel?${query}`, { method: 'POST' });
    await waitFor(() => seen.some((text) => text.includes(runId) && text.includes('out of budget')));
  });
});
