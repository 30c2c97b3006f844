import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findProcess, isRunning } from '#lib/process-identity';
import { temporaryFolder, testEmbeddedKube, waitFor } from '#lib/testing';
import { LABEL, type Pod, SECRETS } from '#lib/resources';
import { mainOf, PodDesk } from '../testdata/pod-desk.js';
import { findMountProblem } from '../user/launch.js';
import { findTools } from '../user/spawn-request.js';

const hasMounts = findMountProblem(findTools().unshare, temporaryFolder()) === undefined;
const OF_VOLUMES = [
  ['the volumes of another pod', 'volumes'],
  ['a volume of another pod', 'volumes/keys'],
  ['a file in a volume of another pod', 'volumes/keys/key'],
  ['what another pod wrote into a volume', 'empty/scratch/'],
] as const;

const FIRST = 60_900;
const SECRET = 'a secret of the platform';
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
if (!isRoot)
  process.stderr.write('SKIPPED: users of their own for pods need root; run this as root on Linux\n');

(isRoot ? describe : describe.skip)('a pod of a node that is root', () => {
  const server = testEmbeddedKube();
  const folder = temporaryFolder();
  const secret = join(folder, 'secrets', 'ca.key');
  const open = join(folder, 'secrets', 'open');
  let desk: PodDesk;
  let victim: Pod;
  let victimPid: number;

  beforeAll(async () => {
    chmodSync(folder, 0o711); // as the data folder of a platform that was started as root
    mkdirSync(join(folder, 'secrets'), { mode: 0o700 });
    mkdirSync(open, { mode: 0o755 });
    for (const file of [secret, join(open, 'note')]) writeFileSync(file, SECRET, { mode: 0o644 });
    const users = { ranges: [{ first: FIRST, last: FIRST + 9 }], programs: [] };
    desk = new PodDesk(server.kubeconfigPath, folder, { users });
    await desk.open('red', 'blue', 'green');
    const line = 'cd; echo mine > private; umask 022; echo open > note; echo ready; exec sleep 1000';
    const env = [{ name: 'RED_SECRET', value: SECRET }];
    await desk.client.create(SECRETS, {
      metadata: { namespace: 'red', name: 'keys' },
      data: { key: Buffer.from(SECRET).toString('base64') },
    });
    const volumes = [
      { name: 'keys', secret: { secretName: 'keys' } },
      { name: 'scratch', emptyDir: {} },
    ];
    const volumeMounts = [
      { name: 'keys', mountPath: '/agentplane-keys' },
      { name: 'scratch', mountPath: '/agentplane-scratch' },
    ];
    victim = await desk.run(
      'red',
      { command: ['sh', '-c', line], env, ...(hasMounts ? { volumeMounts } : {}) },
      { automountServiceAccountToken: true, ...(hasMounts ? { volumes } : {}) },
    );
    await desk.until(victim, 'to run', ({ status }) => status?.phase === 'Running');
    // the end of the last pod of a user starts a look through the folders of all users, which later pods of it await
    await desk.run('blue', { command: ['sleep', '1000'] });
    await waitFor(() => existsSync(join(desk.podFolder(victim), 'work', 'note')));
    const record = readFileSync(join(desk.podFolder(victim), 'main.process.json'), 'utf8');
    ({ pid: victimPid } = JSON.parse(record) as { pid: number });
  });
  afterAll(() => desk.close());

  it('runs as the user of its namespace where it is of no deployment, who gets no more rights and owns a home', async () => {
    const line =
      'id -u; id -g; id -G; grep NoNewPrivs /proc/self/status; echo x > "$HOME/x" && cat "$HOME/x"';
    const [red, again, blue] = [
      await desk.shell('red', line),
      await desk.shell('red', line),
      await desk.shell('blue', line),
    ];
    const uid = Number(red?.split('\n')[0]);
    expect(uid).toBeGreaterThanOrEqual(FIRST);
    expect(red?.replace(/\s+/g, ' ')).toBe(`${uid} ${uid} ${uid} NoNewPrivs: 1 x`);
    expect(again).toBe(red);
    expect(blue?.split('\n')[0]).not.toBe(String(uid));
  });

  it('runs the entry point of an image that it cannot change', async () => {
    const pod = await desk.run('red', { ports: [{ name: 'http', containerPort: 8000 }] });
    await desk.until(pod, 'to run', ({ status }) => status?.phase === 'Running');
    await desk.remove(pod);
    expect(await desk.shell('red', `echo x > ${desk.image}/x`)).toMatch(/Permission denied/);
  });

  it.each([
    ['secrets of the platform', () => `cat ${secret}`],
    ['a file below a closed folder', () => `cat ${open}/note`],
    ['the users of the node', () => `cat ${folder}/node/users.json`],
    ['the list of pods', () => `ls ${folder}/node/pods`],
    ['the files of another workspace', () => `cat ${join(desk.podFolder(victim), 'work', 'note')}`],
    ['the token of another pod', () => `cat ${desk.podFolder(victim)}/token`],
    ['the kubeconfig of another pod', () => `cat ${desk.podFolder(victim)}/kubeconfig`],
    ...(hasMounts
      ? OF_VOLUMES.map(([what, path]) => [what, () => `ls ${desk.podFolder(victim)}/${path}`] as const)
      : []),
    ['the root of another process', () => `ls /proc/${victimPid}/root/`],
    ['the record of another pod', () => `cat ${desk.podFolder(victim)}/pod.json`],
    ['the log of another pod', () => `ls ${desk.podFolder(victim)}/logs`],
    ['the environment of another process', () => `cat /proc/${victimPid}/environ`],
    ['the memory of another process', () => `cat /proc/${victimPid}/mem`],
    ['the files of another process', () => `ls /proc/${victimPid}/cwd/`],
    ['the environment of the node', () => `cat /proc/${process.pid}/environ`],
    ['the descriptors of the node', () => `ls /proc/${process.pid}/fd/`],
  ])('cannot read %s', async (_what, line) => {
    const text = await desk.shell('blue', line());
    expect(text).toMatch(/Permission denied/);
    expect(text).not.toContain(SECRET);
  });

  it('cannot read what another deployment of its namespace has', async () => {
    const of = (deployment: string) => ({ [LABEL.deployment]: deployment });
    const other = await desk.run(
      'red',
      { command: ['sleep', '1000'], env: [{ name: 'OTHER_SECRET', value: SECRET }] },
      {},
      of('other'),
    );
    await desk.until(other, 'to run', ({ status }) => status?.phase === 'Running');
    const { pid } = desk.processOf(other);
    for (const path of [
      `/proc/${pid}/environ`,
      `/proc/${pid}/mem`,
      `${desk.podFolder(other)}/logs/main.log`,
    ]) {
      const text = await desk.shell('red', `cat ${path}`, {}, of('curious'));
      expect(text).toMatch(/Permission denied/);
      expect(text).not.toContain(SECRET);
    }
    expect(await desk.shell('red', `tr '\\0' '\\n' < /proc/${pid}/environ`, {}, of('other'))).toContain(
      SECRET,
    );
    await desk.remove(other);
  });

  it('cannot read the token of a service account from a pod without it, in its own namespace', async () => {
    expect(await desk.shell('red', `cat ${desk.podFolder(victim)}/token`)).toMatch(/Permission denied/);
    const own = 'cat "$KUBECONFIG" > /dev/null && cat "$(dirname "$KUBECONFIG")/token"';
    const token = await desk.shell('red', own, { automountServiceAccountToken: true });
    expect(token).toMatch(/^ey/);
  });

  it('cannot signal processes of other workspaces, the node or its server', async () => {
    const line = `for pid in ${victimPid} ${process.pid} 1; do kill -9 $pid; done`;
    expect(await desk.shell('blue', line)).toMatch(/(not permitted[^]*){3}/);
    expect(isRunning(findProcess(victimPid) ?? { pid: 0, startedAt: '' })).toBe(true);
  });

  it('leaves nothing in the folders of all users once no pod of its user runs', async () => {
    const places = ['/tmp', '/dev/shm', '/var/tmp'].map((place) => `${place}/agentplane-left-${FIRST}`);
    const made = places.map(
      (place) => `mkdir -p ${place}/in && echo x > ${place}/in/file && chmod 0 ${place}/in`,
    );
    const other = `/tmp/agentplane-other-${FIRST}`;
    writeFileSync(other, '', { mode: 0o666 });
    const first = await desk.run('green', { command: ['sleep', '1000'] });
    await desk.until(first, 'to run', ({ status }) => status?.phase === 'Running');
    const before = ownSegments().length;
    await desk.shell('green', `${made.join('; ')}; ipcmk -M 4096`);
    expect(places.filter(existsSync)).toEqual(places);
    // a run that was killed may have left some
    expect(ownSegments()).toHaveLength(before + 1);
    await desk.remove(first);
    await waitFor(() => !places.some(existsSync));
    expect(existsSync(other)).toBe(true);
    await waitFor(() => ownSegments().length === 0);
    rmSync(other);
  });

  it('leaves nothing either where a process of its number ran outside the node at first', async () => {
    const left = `/tmp/agentplane-late-${FIRST}`;
    const uid = Number(await desk.shell('green', `id -u; touch ${left}`));
    const foreign = spawn('sleep', ['1000'], { uid, gid: uid, env: {} });
    await desk.shell('green', `echo x > ${left}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(existsSync(left)).toBe(true);
    foreign.kill();
    await waitFor(() => !existsSync(left));
  });

  it('cannot enter a folder through workingDir that is closed to it', async () => {
    const line = 'cat note > "$TERMINATION_MESSAGE_PATH"';
    const pod = await desk.run('blue', { workingDir: open, command: ['sh', '-c', line] });
    const over = await desk.until(pod, 'to end', (now) => mainOf(now)?.state?.terminated !== undefined);
    expect(mainOf(over)?.state?.terminated?.exitCode).not.toBe(0);
    expect(mainOf(over)?.state?.terminated?.message ?? '').not.toContain(SECRET);
    await desk.remove(pod);
  });

  it.each(['note', 'missing'])('cannot learn whether a closed folder has the command %s', async (name) => {
    const pod = await desk.run('blue', { command: [`${open}/${name}`] });
    const over = await desk.until(pod, 'to end', (now) => mainOf(now)?.state?.terminated !== undefined);
    const { exitCode, reason, message } = mainOf(over)?.state?.terminated ?? {};
    expect({ exitCode, reason, message }).toEqual({ exitCode: 126, reason: 'Error', message: undefined });
    await desk.remove(pod);
  });

  (hasMounts ? it : it.skip).each(['note', 'missing/deep'])(
    'cannot learn whether a closed folder has the place of a mount, %s',
    async (name) => {
      const pod = await desk.run(
        'blue',
        { command: ['true'], volumeMounts: [{ name: 'v', mountPath: `${open}/${name}` }] },
        { volumes: [{ name: 'v', emptyDir: {} }] },
      );
      const waits = await desk.until(
        pod,
        'to wait',
        (now) => mainOf(now)?.state?.waiting?.message !== undefined,
      );
      expect(mainOf(waits)?.state?.waiting).toEqual({
        reason: 'CreateContainerConfigError',
        message: expect.stringContaining(`leads into ${join(folder, 'secrets')}, which is closed`) as unknown,
      });
      await desk.remove(pod);
    },
  );

  it('cannot make the node follow a link: message, log, record, token', async () => {
    const line = `cd "$(dirname "$TERMINATION_MESSAGE_PATH")"
      for file in main.termination main.process.json pod.json pod.json.new token token.new logs; do
        ln -sfn ${secret} $file; rm -rf $file
      done; mv work old; mkdir logs/main/x; ls -a`;
    const text = await desk.shell('blue', line);
    expect(text).not.toContain(SECRET);
    expect(text.match(/Permission denied/g)?.length).toBeGreaterThanOrEqual(12);
  });

  it('has the commands of its probes run as its own user', async () => {
    const command = ['sh', '-c', 'cd; id -u > probed; grep NoNewPrivs /proc/self/status >> probed'];
    const pod = await desk.run('blue', {
      command: ['sh', '-c', 'exec sleep 1000'],
      readinessProbe: { exec: { command }, periodSeconds: 1 },
    });
    const probed = join(desk.podFolder(pod), 'work', 'probed');
    await waitFor(() => /^609\d\d\nNoNewPrivs:\s+1$/m.test(readFileSync(probed, 'utf8')), {
      what: 'the probe to write its user',
    });
    await desk.remove(pod);
  });

  it('leaves nothing after its deletion and takes nothing else along, whatever links it made', async () => {
    const kept = join(folder, 'kept');
    mkdirSync(kept);
    writeFileSync(join(kept, 'file'), '');
    const line = `cd; mkdir -p a/b && ln -s ${kept} a/link && touch a/b/c && chmod 000 a/b; chmod 000 .; exec sleep 1000`;
    const pod = await desk.run('blue', { command: ['sh', '-c', line] });
    const work = join(desk.podFolder(pod), 'work');
    await waitFor(() => existsSync(join(work, 'a')) && (statSync(work).mode & 0o777) === 0);
    await desk.remove(pod);
    await waitFor(() => !existsSync(desk.podFolder(pod)));
    expect(existsSync(join(kept, 'file'))).toBe(true);
  });

  /** A process that left its group and its environment behind; its pid. */
  const daemon = 'cd; env -i setsid /bin/sh -c "echo \\$\\$ > pid; exec sleep 1000" > /dev/null 2>&1 &';
  async function pidOf(pod: Pod): Promise<number> {
    const file = join(desk.podFolder(pod), 'work', 'pid');
    return waitFor(
      () => {
        const pid = Number(existsSync(file) ? readFileSync(file, 'utf8') : '');
        return pid > 0 && findProcess(pid) ? pid : undefined;
      },
      { what: 'the daemon to run' },
    );
  }
  const isGone = (pid: number): Promise<boolean> =>
    waitFor(() => findProcess(pid) === undefined, { what: `process ${pid} to end` });

  it('leaves no process behind with the last pod of its user, whatever that one made of itself', async () => {
    const pod = await desk.run('green', { command: ['sh', '-c', `${daemon} exec sleep 1000`] });
    const pid = await pidOf(pod);
    await desk.remove(pod);
    await isGone(pid);
  });

  it('leaves no process behind when the node stops, nor to the next node', async () => {
    const pod = await desk.run('green', { command: ['sh', '-c', `${daemon} exec sleep 1000`] });
    const pid = await pidOf(pod);
    const uid = statSync(join(desk.podFolder(pod), 'work')).uid;
    await desk.stopNode();
    await isGone(pid);
    const user = { uid, gid: uid, cwd: '/', env: { PATH: process.env.PATH ?? '' } };
    const stray = Number(execFileSync('/bin/sh', ['-c', 'sleep 1000 > /dev/null 2>&1 & echo $!'], user));
    expect(findProcess(stray)).toBeDefined();
    await desk.startNode();
    await isGone(stray);
    await desk.remove(pod);
  });

  it('owns what an earlier node left as root in its folder', async () => {
    const line = 'cd; while [ ! -e go ]; do sleep 0.1; done; cat old/file && rm -r old; exec sleep 1000';
    const pod = await desk.run('blue', { command: ['sh', '-c', line] }, { restartPolicy: 'Always' });
    await desk.until(pod, 'to run', ({ status }) => status?.phase === 'Running');
    await desk.stopNode();
    const work = join(desk.podFolder(pod), 'work');
    chownSync(work, 0, 0);
    mkdirSync(join(work, 'old'), { mode: 0o700 });
    for (const name of ['old/file', 'go']) writeFileSync(join(work, name), '', { mode: 0o600 });
    await desk.startNode();
    await waitFor(() => !existsSync(join(work, 'old')));
    await desk.remove(pod);
  });
});

/** Owners of the shared memory of System V that belongs to users of this test. */
function ownSegments(): readonly number[] {
  const [, ...lines] = readFileSync('/proc/sysvipc/shm', 'utf8').trim().split('\n');
  const owners = lines.map((line) => Number(line.trim().split(/\s+/)[7]));
  return owners.filter((uid) => FIRST <= uid && uid <= FIRST + 9);
}
