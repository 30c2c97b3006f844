import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { testServer } from '../testdata/test-server.js';

const python = process.env['AGENTPLANE_TEST_PYTHON'];

/** True when the interpreter has the library's own suite for savers. */
function hasSuite(): boolean {
  if (!python) return false;
  try {
    execFileSync(python, ['-c', 'import langgraph.checkpoint.conformance'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const isThere = hasSuite();
if (!isThere)
  process.stderr.write(
    'SKIPPED: the suite for savers: the interpreter of AGENTPLANE_TEST_PYTHON has no langgraph-checkpoint-conformance\n',
  );

(isThere ? describe : describe.skip)('the saver of runs in Python', () => {
  const server = testServer({
    folder: join(import.meta.dirname, '..', 'testdata', 'saver-agent'),
    env: { AGENTPLANE_PYTHON: python ?? '' },
  });

  it('passes the conformance suite of LangGraph', async () => {
    const { thread_id: id } = await server.client().threads.create();
    const report = await server.client().runs.wait(id, 'conformance', { input: {} });
    // the server alone removes threads, copies them and prunes them
    expect(report).toEqual({ failures: [], passed: { put: 17, put_writes: 10, get_tuple: 10, list: 16 } });
  });
});
