import pg from 'pg';
import { waitFor } from '#lib/testing';

/** Of the user in the images of Postgres. */
export const POSTGRES_USER = 70;

/** Of its administrator, outside of the platform, as somebody's own is. */
export const OWN_POSTGRES_PASSWORD = 'own';

/**
 * A pod with a Postgres.
 * @param folder of the node that keeps its data; otherwise they end with the pod
 */
export function postgresPod(name: string, folder?: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'postgres', server: name } },
    spec: {
      securityContext: { runAsUser: POSTGRES_USER, fsGroup: POSTGRES_USER },
      containers: [
        {
          name: 'postgres',
          image: 'localhost/trial-postgres:1',
          args: ['-c', 'max_connections=200'],
          env: [
            { name: 'PGDATA', value: '/data/pgdata' },
            { name: 'POSTGRES_PASSWORD', value: OWN_POSTGRES_PASSWORD },
          ],
          // a busy node takes longer than the second that is the default, and a Service without pods refuses everybody
          readinessProbe: {
            exec: { command: ['pg_isready', '-U', 'postgres'] },
            periodSeconds: 2,
            timeoutSeconds: 10,
          },
          volumeMounts: [
            { name: 'data', mountPath: '/data' },
            { name: 'run', mountPath: '/var/run/postgresql' },
          ],
        },
      ],
      volumes: [
        { name: 'data', ...(folder === undefined ? { emptyDir: {} } : { hostPath: { path: folder } }) },
        { name: 'run', emptyDir: {} },
      ],
    },
  };
}

/** @param server name of the pod that it leads to */
export function postgresService(name: string, server: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { server }, ports: [{ port: 5432 }] },
  };
}

/** One Postgres and its Service, for `kubectl apply`. */
export const OWN_POSTGRES = {
  apiVersion: 'v1',
  kind: 'List',
  items: [postgresPod('postgres'), postgresService('postgres', 'postgres')],
};

/**
 * A connection of its administrator, once the node leads there, which is a moment after its pod is ready.
 * @param host with the port
 */
export function connectAsAdministrator(host: string): Promise<pg.Client> {
  const connectionString = `postgres://postgres:${OWN_POSTGRES_PASSWORD}@${host}/postgres`;
  return waitFor(
    async () => {
      const client = new pg.Client({ connectionString });
      client.on('error', () => undefined); // the next statement says it
      await client.connect();
      return client;
    },
    { what: 'the database' },
  );
}
