// A real API server for recordings: etcd and kube-apiserver of test/cluster/install.sh on free ports, without
// controllers (they would write too).
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const bin = join(process.env.KUBE_HOME ?? join(homedir(), '.cache/agentplane/kube'), 'bin');
const work = mkdtempSync(join(tmpdir(), 'record-kube-'));
const children = [];

export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

function start(name, args) {
  const child = spawn(join(bin, name), args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk) => (said = (said + chunk).slice(-4000)));
  child.on('exit', (code) => code && console.error(`${name} ended with ${code}\n${said}`));
  children.push(child);
}

/** Starts both and answers the port. */
export async function startServer() {
  const [clients, peers, port] = [await freePort(), await freePort(), await freePort()];
  const etcd = `http://127.0.0.1:${clients}`;
  const peer = `http://127.0.0.1:${peers}`;
  start('etcd', [
    ...['--data-dir', join(work, 'etcd'), '--log-level', 'error', '--unsafe-no-fsync'],
    ...['--listen-client-urls', etcd, '--advertise-client-urls', etcd],
    ...[
      '--listen-peer-urls',
      peer,
      '--initial-advertise-peer-urls',
      peer,
      '--initial-cluster',
      `default=${peer}`,
    ],
  ]);
  execFileSync('openssl', ['genrsa', '-out', join(work, 'sa.key'), '2048'], { stdio: 'ignore' });
  writeFileSync(join(work, 'tokens.csv'), 'recorder,recorder,recorder,system:masters\n');
  start('kube-apiserver', [
    ...[`--etcd-servers=${etcd}`, `--secure-port=${port}`, '--bind-address=127.0.0.1'],
    ...['--advertise-address=10.96.255.254', '--service-cluster-ip-range=10.96.0.0/16'],
    ...[`--cert-dir=${join(work, 'certs')}`, `--token-auth-file=${join(work, 'tokens.csv')}`],
    ...[
      `--service-account-key-file=${join(work, 'sa.key')}`,
      `--service-account-signing-key-file=${join(work, 'sa.key')}`,
    ],
    ...[
      '--service-account-issuer=https://kubernetes.default.svc',
      '--authorization-mode=RBAC',
      '--allow-privileged=true',
    ],
    '--disable-admission-plugins=TaintNodesByCondition', // a controller would have to take the taint away again
  ]);
  for (let i = 0; i < 240; i++) {
    const answer = await call(port, 'GET', '/readyz').catch(() => undefined);
    if (answer?.code === 200) return port;
    await sleep(250);
  }
  throw new Error('the API server did not come up');
}

/** One request as an administrator. */
export function call(port, method, path, body, contentType = 'application/json') {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: 'Bearer recorder',
      accept: 'application/json',
      'content-type': contentType,
    };
    const options = { host: '127.0.0.1', port, path, method, headers, rejectUnauthorized: false };
    const sent = request(options, (answer) => {
      const chunks = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const json = answer.headers['content-type']?.includes('json') ? JSON.parse(text) : text;
        resolve({ code: answer.statusCode, body: json });
      });
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Stops what was started and forgets it. */
export async function stopServer() {
  for (const child of children.reverse()) child.kill('SIGTERM');
  await sleep(500);
  for (const child of children) child.kill('SIGKILL');
  rmSync(work, { recursive: true, force: true });
}
