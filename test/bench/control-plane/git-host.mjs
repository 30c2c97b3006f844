import { execFileSync, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A git host on this machine with one repository, which holds a copy of an agent: `git http-backend` behind TLS. */
export async function startGitHost(agent) {
  const root = mkdtempSync(join(tmpdir(), 'agentplane-git-'));
  const folder = join(root, 'copy');
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=b', '-c', 'user.email=b@example.org', ...args], {
      ...{ cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    }).trim();
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', join(root, 'agent.git')]);
  for (const name of ['langgraph.json', 'src'])
    cpSync(join(agent, name), join(folder, name), { recursive: true });
  git('init', '-q', '-b', 'main');
  git('remote', 'add', 'origin', join(root, 'agent.git'));
  const push = (text) => {
    writeFileSync(join(folder, 'CHANGE'), String(text));
    git('add', '-A');
    git('commit', '-q', '-m', 'change');
    git('push', '-q', 'origin', 'main');
    return git('rev-parse', 'HEAD');
  };
  push('first');
  const identity = selfSigned(root);
  const server = createServer(identity, (request, response) => serve(root, request, response));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${server.address().port}`;
  const url = `https://${host}/agent.git`;
  return {
    ...{ host, url, ca: identity.cert, push },
    /** Calls a webhook as GitHub does. */
    async announce(webhook, secret, commit) {
      const body = JSON.stringify({ ref: 'refs/heads/main', after: commit, repository: { clone_url: url } });
      const signature = createHmac('sha256', secret).update(body).digest('hex');
      const answer = await fetch(webhook, {
        method: 'POST',
        headers: {
          ...{ 'content-type': 'application/json', 'x-github-event': 'push' },
          'x-hub-signature-256': `sha256=${signature}`,
        },
        body,
      });
      if (answer.status !== 202) throw new Error(`the webhook answered ${answer.status}`);
    },
    close() {
      server.closeAllConnections();
      server.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function selfSigned(root) {
  const [key, cert] = [join(root, 'key.pem'), join(root, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
      ],
      ...['-keyout', key, '-out', cert, '-subj', '/CN=git', '-addext', 'subjectAltName=IP:127.0.0.1'],
    ],
    { stdio: 'ignore' },
  );
  return {
    key: execFileSync('cat', [key], { encoding: 'utf8' }),
    cert: execFileSync('cat', [cert], { encoding: 'utf8' }),
  };
}

function serve(root, request, response) {
  const url = new URL(request.url, 'https://git.test');
  const child = spawn('git', ['http-backend'], {
    env: {
      ...{ PATH: process.env.PATH, GIT_PROJECT_ROOT: root, GIT_HTTP_EXPORT_ALL: '1' },
      ...{ PATH_INFO: url.pathname, QUERY_STRING: url.search.slice(1), REQUEST_METHOD: request.method },
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(child.stdin);
  child.stdin.on('error', () => undefined);
  const pieces = [];
  child.stdout.on('data', (piece) => pieces.push(piece));
  child.stdout.on('end', () => {
    const whole = Buffer.concat(pieces);
    const end = whole.indexOf('\r\n\r\n');
    for (const line of whole.subarray(0, end).toString().split('\r\n')) {
      const [name, value = ''] = line.split(/: ?(.*)/);
      if (name.toLowerCase() === 'status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.end(whole.subarray(end + 4));
  });
}
