import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CONFIG_MAPS, type PodContainer, type PodSpec, SECRETS } from '#lib/resources';
import { temporaryFolder, testEmbeddedKube, waitFor } from '#lib/testing';
import { mainOf, PodDesk } from '../testdata/pod-desk.js';
import { findTools } from '../user/spawn-request.js';
import { findMountProblem } from '../user/launch.js';

const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
const FIRST = 61_000;
const HOMES = [
  { name: 'as the user of the node', users: undefined },
  ...(isRoot
    ? [
        {
          name: 'as users of their own',
          users: { ranges: [{ first: FIRST, last: FIRST + 9 }], programs: [] },
        },
      ]
    : []),
];
const probe = temporaryFolder();
mkdirSync(probe, { recursive: true });
const problem = findMountProblem(findTools().unshare, probe);
if (problem !== undefined) process.stderr.write(`SKIPPED: volumes of processes: ${problem}\n`);

(problem === undefined ? describe : describe.skip).each(HOMES)('a volume of a pod $name', ({ users }) => {
  const server = testEmbeddedKube();
  const folder = temporaryFolder();
  let desk: PodDesk;
  let made = 0;
  let umask = 0;

  beforeAll(async () => {
    chmodSync(folder, 0o711);
    desk = new PodDesk(server.kubeconfigPath, folder, users ? { users } : {});
    await desk.open('here');
    umask = process.umask(0o077); // as the platform's
    await desk.client.create(CONFIG_MAPS, {
      metadata: { namespace: 'here', name: 'settings' },
      data: { 'a.txt': 'one', 'b.txt': 'two' },
    });
    await desk.client.create(SECRETS, {
      metadata: { namespace: 'here', name: 'keys' },
      data: { key: Buffer.from([0xff, 0x00, 0x41]).toString('base64') },
    });
  });
  afterAll(async () => {
    process.umask(umask);
    await desk.close();
  });

  /** Output of a line of shell in a container with these mounts. */
  async function shell(
    line: string,
    volumes: readonly object[],
    volumeMounts: NonNullable<PodContainer['volumeMounts']>,
    spec: Partial<PodSpec> & object = {},
  ): Promise<string> {
    const file = join(folder, `out-${++made}`);
    writeFileSync(file, '');
    chmodSync(file, 0o666);
    const command = ['sh', '-c', `exec >${file} 2>&1; ${line}; cp ${file} "$TERMINATION_MESSAGE_PATH" || :`];
    const terminationMessagePolicy = 'FallbackToLogsOnError';
    const pod = await desk.run(
      'here',
      { command, volumeMounts, terminationMessagePolicy },
      { volumes, ...spec },
    );
    const over = await desk.until(pod, 'to end', (now) => mainOf(now)?.state?.terminated !== undefined);
    const { message = '', exitCode } = mainOf(over)?.state?.terminated ?? {};
    expect([exitCode, message]).toEqual([0, message]);
    await desk.remove(pod);
    return message.trim();
  }

  it('appears where the container mounts it, read-only, and nowhere on the machine', async () => {
    const volumes = [
      { name: 'map', configMap: { name: 'settings', items: [{ key: 'b.txt', path: 'deep/c.txt' }] } },
      { name: 'whole', configMap: { name: 'settings' } },
      { name: 'keys', secret: { secretName: 'keys', defaultMode: 0o400 } },
    ];
    const mounts = [
      { name: 'map', mountPath: '/agentplane-test/map' },
      { name: 'whole', mountPath: '/etc/agentplane-test' },
      { name: 'whole', mountPath: '/agentplane-test/only.txt', subPath: 'a.txt' },
      { name: 'keys', mountPath: '/agentplane-test/keys/' },
    ];
    const line =
      'cd /agentplane-test; cat map/deep/c.txt; echo; ls /etc/agentplane-test; cat only.txt; echo; ' +
      'od -An -tx1 keys/key; (echo x > keys/key) || echo closed; test -e /etc/passwd && echo system';
    const text = await shell(line, volumes, mounts);
    expect(text.split('\n').map((one) => one.trim())).toEqual([
      'two',
      'a.txt',
      'b.txt',
      'one',
      'ff 00 41',
      expect.stringContaining('Read-only file system'),
      'closed',
      'system',
    ]);
    expect(['/agentplane-test', '/etc/agentplane-test'].filter(existsSync)).toEqual([]);
  });

  it('begins empty, is shared by the containers of the pod, and is removed with it', async () => {
    const mount = { name: 'scratch', mountPath: '/agentplane-scratch' };
    const initContainers = [
      {
        name: 'first',
        image: 'test/program',
        command: [
          'sh',
          '-c',
          'ls -A /agentplane-scratch; mkdir /agentplane-scratch/in; echo made > /agentplane-scratch/in/it',
        ],
        volumeMounts: [mount],
      },
    ];
    const own = [mount, { name: 'scratch', mountPath: '/agentplane-part', subPath: 'new/part' }];
    const line =
      'cat /agentplane-scratch/in/it; echo more > /agentplane-part/note; cat /agentplane-scratch/new/part/note; id -u';
    const text = await shell(line, [{ name: 'scratch', emptyDir: {} }], own, { initContainers });
    const uid = Number(text.split('\n').at(-1));
    expect(text.split('\n').slice(0, 2)).toEqual(['made', 'more']);
    expect(users ? uid >= FIRST : uid === process.getuid?.()).toBe(true);
    await waitFor(() => readdirSync(join(folder, 'node', 'pods')).length === 0);
  });

  it('leaves little room beside it, where no limit of memory counts', async () => {
    const line =
      'echo x > /agentplane-large && cat /agentplane-large; ' +
      'head -c 16000000 /dev/zero > /agentplane-large 2>/dev/null || echo full';
    const mounts = [{ name: 'scratch', mountPath: '/agentplane-scratch' }];
    const text = await shell(line, [{ name: 'scratch', emptyDir: {} }], mounts);
    expect(text.split('\n')).toEqual(['x', 'full']);
    expect(existsSync('/agentplane-large')).toBe(false);
  });

  it('covers the folders for temporary files, and what the program needs below them stays', async () => {
    const volumes = [
      { name: 'tmp', emptyDir: {} },
      { name: 'shm', emptyDir: { medium: 'Memory' } },
    ];
    const mounts = [
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'shm', mountPath: '/dev/shm' },
    ];
    const line =
      'stat -c %A /tmp; touch /tmp/agentplane-own /dev/shm/agentplane-own && echo written; ' +
      'head -c 100000000 /dev/zero > /dev/shm/large 2>/dev/null || stat -c %s /dev/shm/large; ' +
      'cd "$(dirname "$TERMINATION_MESSAGE_PATH")" && pwd';
    const lines = (await shell(line, volumes, mounts)).split('\n');
    expect(lines.slice(0, 3)).toEqual(['drwx------', 'written', String(64 << 20)]);
    expect(lines[3]?.startsWith(folder)).toBe(true);
    expect(['/tmp/agentplane-own', '/dev/shm/agentplane-own'].filter(existsSync)).toEqual([]);
    await waitFor(() => readdirSync(join(folder, 'node', 'pods')).length === 0);
  });

  it('holds facts of the pod, and several sources together', async () => {
    const items = [
      { path: 'name', fieldRef: { fieldPath: 'metadata.name' } },
      { path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } },
    ];
    const sources = [
      { downwardAPI: { items } },
      { secret: { name: 'keys' } },
      { configMap: { name: 'settings' } },
    ];
    const text = await shell(
      'cd /agentplane-facts; ls; cat namespace',
      [{ name: 'facts', projected: { sources } }],
      [{ name: 'facts', mountPath: '/agentplane-facts' }],
    );
    expect(text.split('\n')).toEqual(['a.txt', 'b.txt', 'key', 'name', 'namespace', 'here']);
  });

  it('keeps a container waiting that mounts an object which does not exist, until it does', async () => {
    const volumes = [{ name: 'late', configMap: { name: 'late' } }];
    const volumeMounts = [{ name: 'late', mountPath: '/agentplane-late' }];
    const pod = await desk.run('here', { command: ['cat', '/agentplane-late/k'], volumeMounts }, { volumes });
    const waiting = await desk.until(
      pod,
      'to wait',
      (now) => mainOf(now)?.state?.waiting?.message !== undefined,
    );
    expect(mainOf(waiting)?.state?.waiting).toEqual({
      reason: 'CreateContainerConfigError',
      message: 'ConfigMap late not found; create it',
    });
    await desk.client.create(CONFIG_MAPS, {
      metadata: { namespace: 'here', name: 'late' },
      data: { k: 'v' },
    });
    const over = await desk.until(pod, 'to end', (now) => mainOf(now)?.state?.terminated !== undefined);
    expect(mainOf(over)?.state?.terminated?.exitCode).toBe(0);
    await desk.remove(pod);
  });

  it('leaves the program of an image its port and its probes', async () => {
    const volumes = [{ name: 'whole', configMap: { name: 'settings' } }];
    const httpGet = { path: '/', port: 'http' };
    const exec = { command: ['cat', '/agentplane-image/a.txt'] };
    const pod = await desk.run(
      'here',
      {
        ports: [{ name: 'http', containerPort: 8000 }],
        volumeMounts: [{ name: 'whole', mountPath: '/agentplane-image' }],
        startupProbe: { exec, periodSeconds: 1 },
        readinessProbe: { httpGet, periodSeconds: 1 },
      },
      { volumes },
    );
    await desk.until(pod, 'to be ready', (now) => mainOf(now)?.ready === true);
    await desk.remove(pod);
  });
});
