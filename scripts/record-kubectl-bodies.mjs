// Records the protobuf bodies that kubectl sends, with the JSON it shows for the same objects, to
// libs/kube-semantics/src/protobuf/testdata/bodies.json: a proxy listens between kubectl and a real API server.
//   node scripts/record-kubectl-bodies.mjs
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bin, call, freePort, startServer, stopServer } from './real-api-server.mjs';

const target = fileURLToPath(new URL('../libs/kube-semantics/src/protobuf/testdata/', import.meta.url));
const commands = [
  'create secret generic s --from-literal=a=b --from-literal=empty=',
  'create configmap c --from-literal=a=b',
  'create namespace fresh',
  'create serviceaccount runner',
  'create deployment d --image=nginx:1 --replicas=3 --port=80 -- run --flag',
  'create job j --image=nginx:1 -- sleep 5',
  'create role r --verb=get,list --resource=pods,deployments.apps --resource-name=x',
  'create clusterrole cr --verb=get --non-resource-url=/metrics',
  'create rolebinding rb --role=r --serviceaccount=default:runner --user=u --group=g',
  'create clusterrolebinding crb --clusterrole=cr --user=u',
  'create service clusterip svc --tcp=80:8000',
  'create service nodeport np --tcp=80:http --node-port=30080',
  'create token default --duration=1h --audience=x',
  'auth can-i create pods --namespace=recording',
  'auth can-i get /healthz',
  'auth can-i --list',
  'auth whoami',
  'run p --image=nginx --env=A=b --labels=a=b --restart=Never -- sleep 1',
];

function kubectl(args) {
  return new Promise((resolve) => execFile(join(bin, 'kubectl'), args, (error, stdout) => resolve(stdout)));
}

const bodies = [];
try {
  const port = await startServer();
  await call(port, 'POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  const proxy = createServer((asked, answer) => {
    const chunks = [];
    asked.on('data', (chunk) => chunks.push(chunk));
    asked.on('end', () => {
      const body = Buffer.concat(chunks);
      if (asked.headers['content-type']?.includes('protobuf') && body.length > 0) bodies.push(body);
      const headers = { ...asked.headers, authorization: 'Bearer recorder' };
      const options = {
        host: '127.0.0.1',
        port,
        path: asked.url,
        method: asked.method,
        headers,
        rejectUnauthorized: false,
      };
      request(options, (got) => {
        answer.writeHead(got.statusCode, got.headers);
        got.pipe(answer);
      }).end(body);
    });
  });
  const listening = await freePort();
  await new Promise((done) => proxy.listen(listening, '127.0.0.1', done));
  const recorded = [];
  for (const command of commands) {
    const args = command.split(' ');
    const split = args.includes('--') ? args.indexOf('--') : args.length;
    const server = [
      `--server=http://127.0.0.1:${listening}`,
      `--cache-dir=${join(tmpdir(), 'record-kubectl-cache')}`,
    ];
    const isDry = !/token|auth/.test(command);
    const with_ = (extra) => [...server, ...args.slice(0, split), ...extra, ...args.slice(split)];
    bodies.length = 0;
    await kubectl(with_(isDry ? ['--dry-run=server'] : []));
    const json = isDry ? JSON.parse(await kubectl(with_(['--dry-run=client', '-o', 'json']))) : undefined;
    recorded.push({
      command,
      body: bodies[0]?.toString('base64'),
      json,
    });
  }
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, 'bodies.json'), `${JSON.stringify(recorded, undefined, 1)}\n`);
  console.log(
    recorded.map(({ command, body }) => `${body === undefined ? 'none' : body.length} ${command}`).join('\n'),
  );
  proxy.close();
} finally {
  await stopServer();
}
