import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '#lib/testing';
import { leaveOut } from '../support/kubectl.js';
import { agentplane } from '../cli/agentplane.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { listProcesses } from '../support/process-tree.js';
import { Rest } from '../support/rest.js';

const SIZE_MB = 400;
const TEXT = 'the quick brown fox jumps over the lazy dog. '.repeat(400);

/** A disk of its own needs the right to mount one. */
function mountDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MB}m,mode=755`, 'none', folder]);
  if (status === 0) return folder;
  rmSync(folder, { recursive: true });
  return undefined;
}

const disk = mountDisk();
if (!disk) leaveOut('the test of a full disk, which has no right to mount one');

function newRun(): Record<string, unknown> & { readonly id: string } {
  const id = randomUUID();
  const time = new Date().toISOString().replace('Z', '000Z');
  return {
    id,
    trace_id: id,
    dotted_order: `${time.replace(/[-:.]/g, '').replace('Z', '')}Z${id}`,
    name: 'filling',
    run_type: 'chain',
    session_name: 'filling',
    start_time: time,
    end_time: time,
    inputs: { text: TEXT + randomUUID() },
  };
}

(disk ? describe : describe.skip)('a full disk', () => {
  const dataFolder = join(disk ?? '', 'data');
  const filler = join(disk ?? '', 'filler');
  const stored: string[] = [];
  let platform: Platform;
  let rest: Rest;
  let hasEnded = false;

  beforeAll(async () => {
    mkdirSync(dataFolder);
    platform = await startPlatform(dataFolder);
    platform.process.once('exit', () => (hasEnded = true));
    rest = new Rest(platform.credentials);
  });

  afterAll(async () => {
    rmSync(filler, { force: true });
    await platform.stop();
    spawnSync('umount', ['-l', disk ?? '']);
    rmSync(disk ?? '', { recursive: true, force: true });
  });

  async function ingest(): Promise<{ status: number; detail: unknown }> {
    const post = Array.from({ length: 20 }, newRun);
    const { status, body } = await rest.post<{ detail?: unknown }>('/runs/batch', { post, patch: [] });
    if (status === 202) stored.push(...post.map(({ id }) => id));
    return { status, detail: body.detail };
  }

  function fillDisk(): void {
    const file = openSync(filler, 'a');
    const chunk = Buffer.alloc(1024 * 1024);
    try {
      for (let written = 1; written > 0;) written = writeSync(file, chunk);
    } catch {
      // nothing is left
    } finally {
      closeSync(file);
    }
  }

  it('refuses what it cannot store with a sentence and stays up', async () => {
    expect(await ingest()).toMatchObject({ status: 202 });
    const refused: { status: number; detail: unknown }[] = [];
    const namesDisk = ({ status, detail }: (typeof refused)[0]): boolean =>
      status === 507 && /no space left/.test(String(detail));
    await waitFor(async () => {
      fillDisk();
      const answer = await ingest();
      if (answer.status !== 202) refused.push(answer);
      return refused.length > 20 && refused.some(namesDisk);
    });
    for (const { status, detail } of refused) {
      expect([503, 507]).toContain(status);
      expect(typeof detail).toBe('string');
    }
    expect((await rest.get('/info')).status).toBe(200);
    expect(hasEnded).toBe(false);
  });

  it('reports the full disk in the same words in REST, status and dashboard', async () => {
    fillDisk();
    const { body } = await rest.get<{ detail?: string }>('/ok');
    expect(body.detail).toMatch(/^no space left on the disk of .* \(\d+ MB free\); free some, /);
    const words = String(body.detail).replace(/ \(.*/, '');
    const status = await agentplane(['status', '--data', dataFolder]);
    expect(status.output).toMatch(new RegExp(`^disk +full +${words}`, 'm'));
    expect(status.output).toMatch(new RegExp(`^rest +degraded +${words}`, 'm'));
    expect(status.code).toBe(1);
    expect((await agentplane(['dashboard', '--data', dataFolder])).output).toContain(words);
  });

  it('starts Postgres again though it ended while the disk was full', async () => {
    fillDisk();
    const masters = listProcesses().filter(
      ({ command }) => command.includes(dataFolder) && /postgres/.test(command),
    );
    for (const { pid } of masters) process.kill(pid, 'SIGKILL');
    await waitFor(async () => (await rest.get('/sessions')).status === 503, {
      what: 'REST to notice',
    });
    const until = performance.now() + 3_000; // the time itself is the fault: starts fail meanwhile
    await waitFor(() => {
      fillDisk();
      return performance.now() >= until;
    });
    expect(hasEnded).toBe(false);
  });

  it('goes on by itself once there is space, and has lost nothing that it acknowledged', async () => {
    rmSync(filler);
    await waitFor(async () => (await ingest()).status === 202, {
      what: 'the store to take runs again',
    });
    expect(hasEnded).toBe(false);
    expect((await rest.get('/ok')).body).toEqual({ ok: true });
    expect((await agentplane(['status', '--data', dataFolder])).output).toMatch(/^disk +ok /m);
    const sample = stored.filter((_, at) => at % 7 === 0);
    for (const id of sample) expect((await rest.get<{ id: string }>(`/runs/${id}`)).body.id).toBe(id);
    const { body } = await rest.post<{ id: string; latest_revision_id: string }>('/v2/deployments', {
      name: 'after',
      source: 'internal_image',
      source_config: {},
      source_revision_config: { image_uri: 'sample-agent' },
      secrets: [],
    });
    await waitFor(
      async () => {
        const path = `/v2/deployments/${body.id}/revisions/${body.latest_revision_id}`;
        return (await rest.get<{ status: string }>(path)).body.status === 'DEPLOYED' ? true : undefined;
      },
      { what: 'an agent to be deployed' },
    );
  });
});
