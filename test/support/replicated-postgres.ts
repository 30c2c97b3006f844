import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { waitFor } from '#lib/testing';
import type { ClusterBench, Pod } from './cluster-bench.js';
import {
  connectAsAdministrator,
  OWN_POSTGRES_PASSWORD,
  POSTGRES_USER,
  postgresPod,
  postgresService,
} from './own-postgres.js';
import { pidsOf, signalPod } from './pod-processes.js';

const NAMESPACE = 'databases';
const SERVICE = 'postgres';

/** How a primary is lost: its processes are killed, or no packet reaches it or leaves it any more. */
export type Loss = 'killed' | 'unreachable';

/** A primary and a standby that acknowledges every commit, behind one Service: losing the primary loses nothing. */
export class ReplicatedPostgres {
  #count = 0;
  #primary = '';
  #standby = '';
  #lost: string | undefined;

  /** @param folder of the node for their data */
  constructor(
    private readonly bench: ClusterBench,
    private readonly folder: string,
  ) {}

  /** The first server, alone. */
  async start(): Promise<void> {
    await this.bench.kubectl.run(['create', 'namespace', NAMESPACE]);
    this.#primary = this.#nextName();
    await this.#apply(postgresService(SERVICE, this.#primary));
    await this.#startPod(this.#primary);
  }

  /** A connection of the administrator to the primary, to be ended. */
  connect(): Promise<pg.Client> {
    return connectAsAdministrator(new URL(this.bench.serviceUrl(this.#primary, NAMESPACE)).host);
  }

  /** A copy of the primary that follows it; from now on nothing is acknowledged before both have it. */
  async addStandby(): Promise<void> {
    const name = this.#nextName();
    const admin = await this.connect();
    try {
      appendFileSync(
        join(this.#data(this.#primary), 'pg_hba.conf'),
        'host replication all all scram-sha-256\n',
      );
      await admin.query(`ALTER SYSTEM SET wal_keep_size = '1GB'`);
      await admin.query('SELECT pg_reload_conf()');
      await admin.query(`SELECT pg_backup_start('standby', true)`);
      // a file may be removed meanwhile; the log that is replayed knows of it
      spawnSync('cp', ['-a', join(this.folder, this.#primary), join(this.folder, name)]);
      const { rows } = await admin.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop()');
      this.#makeStandby(name, rows[0]?.labelfile ?? '');
      await this.#startPod(name);
      await waitFor(
        async () => (await admin.query(`SELECT FROM pg_stat_replication WHERE state = 'streaming'`)).rowCount,
        { what: 'the standby to follow' },
      );
      await admin.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
      await admin.query('SELECT pg_reload_conf()');
    } finally {
      await admin.end();
    }
    this.#standby = name;
  }

  /** The primary stands still until it is told to `SIGCONT`. */
  async signal(name: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    signalPod(await this.#pod(this.#primary), name);
  }

  /** The primary is lost. */
  async lose(loss: Loss): Promise<void> {
    const pod = await this.#pod(this.#primary);
    if (loss === 'unreachable') unplug(pod);
    else await this.#remove(this.#primary);
    this.#lost = loss === 'unreachable' ? this.#primary : undefined;
  }

  /** The standby becomes the primary, and the Service leads to it, as operators of Postgres do. */
  async failOver(): Promise<void> {
    this.#primary = this.#standby;
    const admin = await this.connect();
    await admin.query('SELECT pg_promote()');
    await admin.end();
    await this.#apply(postgresService(SERVICE, this.#primary));
  }

  /** Removes a server that was unreachable. */
  async removeLost(): Promise<void> {
    if (this.#lost !== undefined) await this.#remove(this.#lost);
    this.#lost = undefined;
  }

  #nextName(): string {
    return `postgres-${++this.#count}`;
  }

  #data(name: string): string {
    return join(this.folder, name, 'pgdata');
  }

  #makeStandby(name: string, label: string): void {
    const data = this.#data(name);
    rmSync(join(data, 'postmaster.pid'), { force: true });
    const host = `${this.#primary}.${NAMESPACE}.svc.cluster.local`;
    const source = `host=${host} user=postgres password=${OWN_POSTGRES_PASSWORD}`;
    const settings = `primary_conninfo = '${source}'\nsynchronous_standby_names = ''\n`;
    appendFileSync(join(data, 'postgresql.auto.conf'), settings);
    for (const [file, text] of [
      ['backup_label', label],
      ['standby.signal', ''],
    ] as const) {
      writeFileSync(join(data, file), text);
      chownSync(join(data, file), POSTGRES_USER, POSTGRES_USER);
    }
  }

  async #startPod(name: string): Promise<void> {
    const folder = join(this.folder, name);
    mkdirSync(folder, { recursive: true });
    chownSync(folder, POSTGRES_USER, POSTGRES_USER);
    await this.#apply(postgresService(name, name), postgresPod(name, folder));
    const words = ['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=2m'];
    await this.bench.kubectl.run(['-n', NAMESPACE, ...words]);
  }

  async #apply(...items: readonly object[]): Promise<void> {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    await this.bench.kubectl.run(['-n', NAMESPACE, 'apply', '-f', '-'], { input });
  }

  async #pod(name: string): Promise<Pod> {
    return JSON.parse(
      await this.bench.kubectl.run(['-n', NAMESPACE, 'get', 'pod', name, '-o', 'json']),
    ) as Pod;
  }

  async #remove(name: string): Promise<void> {
    signalPod(await this.#pod(name), 'SIGKILL');
    await this.bench.kubectl.run(['-n', NAMESPACE, 'delete', 'pod', name, '--grace-period=0', '--force']);
  }
}

/** No packet reaches this pod or leaves it any more, and nobody is told. */
function unplug(pod: Pod): void {
  const words = ['-t', String(pidsOf(pod)[0]), '-n', 'ip', '-o', 'link', 'show', 'eth0'];
  const index = /@if(\d+)/.exec(execFileSync('nsenter', words, { encoding: 'utf8' }))?.[1];
  const links = '/sys/class/net';
  const link = readdirSync(links).find(
    (name) => readFileSync(join(links, name, 'ifindex'), 'utf8').trim() === index,
  );
  execFileSync('ip', ['link', 'set', link ?? '', 'down']);
}
