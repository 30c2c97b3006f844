import type { ClusterBench, Database } from './cluster-bench.js';
import { connectAsAdministrator, OWN_POSTGRES } from './own-postgres.js';

/** The database that docs/cluster.md has of one's own, as `startPageDatabase` makes it. */
export const PAGE_DATABASE: Database = {
  secret: 'agentplane-postgres',
  service: 'postgres',
  namespace: 'databases',
};

/** A Postgres in a pod, with the roles and the Secret of docs/cluster.md. */
export async function startPageDatabase(bench: ClusterBench): Promise<void> {
  const { kubectl, shell } = bench;
  const { service, namespace } = PAGE_DATABASE;
  await kubectl.run(['create', 'namespace', namespace]);
  await kubectl.run(['-n', namespace, 'apply', '-f', '-'], { input: JSON.stringify(OWN_POSTGRES) });
  await kubectl.run(['-n', namespace, 'wait', '--for=condition=Ready', `pod/${service}`, '--timeout=2m']);
  const admin = await connectAsAdministrator(new URL(bench.serviceUrl(service, namespace)).host);
  for (const statement of bench.page('## Database').split(/(?<=;)\n/))
    await admin.query(statement.replaceAll("'PASSWORD'", "'own'"));
  await admin.end();
  await shell.run(bench.page('## Database', 1));
}
