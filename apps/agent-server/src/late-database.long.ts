import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, temporaryFolder, testPostgres, waitFor } from '#lib/testing';
import { DatabaseProxy } from '../testdata/database-proxy.js';
import { ServerProcess } from '../testdata/start-server.js';

const postgres = testPostgres();
const folder = temporaryFolder();
let proxy: DatabaseProxy;

beforeEach(async () => {
  proxy = await DatabaseProxy.start((await postgres.freshDatabase()).uri);
});

afterEach(() => proxy.stop());

interface Answer {
  readonly ok: boolean;
  readonly detail?: string;
  readonly waiting_for?: string;
}

async function readiness(port: number): Promise<{ status: number; body: Answer }> {
  const response = await fetch(`http://127.0.0.1:${port}/ok`);
  return { status: response.status, body: (await response.json()) as Answer };
}

describe('a server whose database is unavailable at its start', () => {
  it.each<[string, () => void]>([
    ['refuses connections', () => proxy.cut()],
    ['accepts connections and answers nothing', () => proxy.hold()],
  ])('waits and reports why while the database %s', async (_, fail) => {
    fail();
    const { hostname, port: databasePort, pathname, password } = new URL(proxy.uri);
    const port = await freePort();
    const starting = ServerProcess.start({ uri: proxy.uri, env: { PORT: String(port) } });
    try {
      const { status, body } = await waitFor(async () => {
        const found = await readiness(port);
        return found.body.waiting_for !== undefined && found;
      });
      expect([status, body.ok, body.waiting_for]).toEqual([503, false, 'database']);
      expect(body.detail).toContain(`database ${pathname.slice(1)} at ${hostname}:${databasePort}`);
      expect(body.detail).not.toContain(password);
      const refused = await fetch(`http://127.0.0.1:${port}/threads`, { method: 'POST' });
      // another attempt may have failed in other words in the meantime
      const waits = expect.stringMatching(
        /^waiting for the database .*: (no answer yet|the database gave no answer: )/,
      );
      expect([body.detail, refused.status, await refused.json()]).toEqual([waits, 503, { detail: waits }]);
    } finally {
      proxy.mend();
      const server = await starting;
      expect(await readiness(server.port)).toEqual({ status: 200, body: { ok: true } });
      await server.stop();
    }
  });

  it('exits with 75 and names the database when its patience ends', async () => {
    proxy.cut();
    const message = join(folder, 'message');
    const env = { TERMINATION_MESSAGE_PATH: message, AGENTPLANE_START_PATIENCE_MS: '1000' };
    expect(await ServerProcess.startAndEnd({ uri: proxy.uri, env })).toBe(75);
    expect(existsSync(message) && JSON.parse(readFileSync(message, 'utf8'))).toEqual({
      reason: 'DependencyUnavailable',
      message: expect.stringMatching(/^waiting for the database \S+ at 127\.0\.0\.1:\d+: /),
    });
  });

  it('waits for one that does not exist yet, and says what the server answered', async () => {
    const message = join(folder, 'refused');
    const uri = new URL(proxy.uri);
    uri.pathname = '/absent';
    const env = { TERMINATION_MESSAGE_PATH: message, AGENTPLANE_START_PATIENCE_MS: '1000' };
    expect(await ServerProcess.startAndEnd({ uri: uri.href, env })).toBe(75);
    expect(JSON.parse(readFileSync(message, 'utf8'))).toEqual({
      reason: 'DependencyUnavailable',
      message: expect.stringMatching(
        /^waiting for the database absent at 127\.0\.0\.1:\d+: .*does not exist/,
      ),
    });
  });
});
