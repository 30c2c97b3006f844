// What is measured: Postgres, an API server and an api process of one built checkout, with a tenant and its key.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { parse } from 'yaml';
import { parentOf, wholeCpuOf } from '../agent-server/process-tree.mjs';

/**
 * @param {string} checkout built
 * @param {{ profiles?: string }} options folder for CPU profiles of the api
 */
export async function openStand(checkout, { profiles } = {}) {
  const load = (name) => import(join(checkout, 'dist/libs', name, 'src/index.js'));
  const { startTemporaryPostgres } = await load('embedded-postgres');
  const { openTraceStore } = await load('trace-store');
  const { createLogger } = await load('telemetry');
  const { systemClock } = await load('time');
  const { openPool } = await load('postgres');
  const { createApiServer } = await load('embedded-kube');
  const { KubeClient, loadKubeConnection } = await load('kube');
  const { CUSTOM_RESOURCE_DEFINITIONS, FIELD_MANAGER, NAMESPACES, RESOURCES, workspaceNamespace } =
    await load('resources');

  const log = createLogger('bench', 'error');
  const folder = mkdtempSync(join(tmpdir(), 'bench-trace-store-'));
  const postgres = await startTemporaryPostgres();
  const uri = postgres.uri();
  const pool = openPool({ uri, applicationName: 'bench', maxConnections: 2, log });
  const postmaster = parentOf((await pool.query('SELECT pg_backend_pid() AS pid')).rows[0].pid);
  await pool.query('CREATE DATABASE kube');
  const kube = createApiServer({
    databaseUri: postgres.uri('kube'),
    port: 0,
    pkiFolder: join(folder, 'pki'),
    log,
  });
  await kube.start();
  const kubeconfigPath = join(folder, 'kubeconfig');
  writeFileSync(kubeconfigPath, await kube.adminKubeconfig());
  const client = new KubeClient(await loadKubeConnection({ kubeconfigPath }), {
    fieldManager: FIELD_MANAGER.api,
  });
  for (const file of readdirSync(join(checkout, 'crds')).filter((name) => name.endsWith('.yaml')))
    await client.create(
      CUSTOM_RESOURCE_DEFINITIONS,
      parse(readFileSync(join(checkout, 'crds', file), 'utf8')),
    );
  const tenant = randomUUID();
  await client.create(NAMESPACES, { metadata: { name: workspaceNamespace('bench') } });
  await client.create(RESOURCES.Workspace, {
    metadata: { name: 'bench' },
    spec: { tenantId: tenant, plan: 'enterprise' },
  });

  const store = openTraceStore({ uri, poolSize: 4, log, clock: systemClock });
  await store.migrate();
  const { key } = await store.apiKeys.mint(tenant, { name: 'bench', scope: 'workspace' });

  const api = spawn(
    process.execPath,
    [
      ...(profiles ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`] : []),
      ...['--enable-source-maps', join(checkout, 'dist/apps/api/src/main.js')],
    ],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env.PATH, KUBECONFIG: kubeconfigPath, AGENTPLANE_DATABASE_URI: uri, PORT: '0' },
    },
  );
  const port = await new Promise((listens, failed) => {
    api.once('exit', (code) => failed(new Error(`the api ended with ${code}`)));
    createInterface({ input: api.stderr }).on('line', (line) => {
      const said = line.startsWith('{') ? JSON.parse(line) : { level: 'error' };
      if (said.msg === 'listening') listens(said.port);
      else if (!['info', 30].includes(said.level)) process.stderr.write(`${line}\n`);
    });
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });

  return {
    ...{ name: checkout, tenant, uri, pool, store, folder, load },
    /** CPU milliseconds that api and Postgres have taken so far. */
    cpu: () => ({ api: wholeCpuOf(api.pid), postgres: wholeCpuOf(postmaster) }),
    /** @returns {Promise<any>} the answer's JSON @throws when it is none of 2xx */
    call: (method, path, body, contentType = 'application/json') =>
      new Promise((answered, failed) => {
        const sent = request({
          ...{ agent, port, method, path, host: '127.0.0.1' },
          headers: {
            'x-api-key': key,
            ...(body ? { 'content-type': contentType, 'content-length': body.length } : {}),
          },
        });
        sent.on('error', failed);
        sent.on('response', (response) => {
          const pieces = [];
          response.on('data', (piece) => pieces.push(piece));
          response.on('error', failed);
          response.on('end', () => {
            const text = Buffer.concat(pieces).toString();
            if (response.statusCode < 300) answered(text === '' ? undefined : JSON.parse(text));
            else
              failed(new Error(`${method} ${path} answered ${response.statusCode}: ${text.slice(0, 500)}`));
          });
        });
        sent.end(body);
      }),
    async stop() {
      agent.destroy();
      api.kill('SIGTERM');
      await once(api, 'exit');
      await client.close();
      await kube.stop();
      await store.close();
      await pool.end();
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
