import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect } from '@jest/globals';
import type pg from 'pg';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { parseInstant, systemClock } from '#lib/time';
import type { TraceStore } from '../src/index.js';
import type { LakeOptions } from '../src/sealing/lake.js';
import { SegmentReader } from '../src/lake/segment-reader.js';
import { DaySealer } from '../src/sealing/sealer.js';
import { PostgresPayloadStore } from '../src/run/payload-store.js';
import { PAYLOAD_FIELDS } from '../src/run/stored-run.js';
import { exportFiles } from './export-file.js';
import { Killed, Steps } from './killed-steps.js';
import { type Change, type Command, type Sequence, sequences, type Texts } from './lake-commands.js';
import { type PublishedTable, readTable } from './published-table.js';
import { type SavedRows, saveRows } from './saved-rows.js';
import { testLake } from './test-lake.js';
import { testTraceStore } from './test-trace-store.js';

interface ModelRun {
  readonly id: string;
  readonly day: number;
  readonly payloads: Texts;
  readonly isErased: boolean;
}

/** Database and store of a sequence. */
interface SequencePlace {
  readonly store: TraceStore;
  readonly client: pg.Client;
  readonly uri: string;
  readonly lake: LakeOptions;
  keys(): Promise<readonly string[]>;
}

/** Hours for which objects stay; each tidying is two hours later. */
const KEPT_HOURS = 5;
const DAYS = ['2026-11-20', '2026-11-21'];
const SIGNAL = new AbortController().signal;

/**
 * A player for the test file that calls this, on a database and an object store of its own.
 * @returns a function that plays that many random sequences
 */
export function sequencePlayer(): (numRuns: number) => Promise<void> {
  const lake = testLake();
  const database = testTraceStore();
  let store: TraceStore;
  let player: SequencePlayer;
  beforeAll(() => {
    const options = { ...lake.options, keptHours: KEPT_HOURS, isOnlyWriter: true };
    store = database.another({ lake: options });
    const { uri, client } = database;
    player = new SequencePlayer({ store, uri, client, lake: options, keys: () => lake.keys() });
  });
  afterAll(async () => {
    await player.close();
    await store.close();
  });
  return (numRuns) =>
    fc.assert(
      fc.asyncProperty(sequences, (sequence) => player.play(sequence)),
      { numRuns, endOnFailure: true },
    );
}

/** Performs sequences of commands against the store and a model, and compares all reads. */
class SequencePlayer {
  readonly #place: SequencePlace;
  readonly #pool: Pool;

  constructor(place: SequencePlace) {
    this.#place = place;
    const log = createLogger('test', 'silent');
    const settings = { timezone: 'UTC', datestyle: 'ISO', bytea_output: 'hex' };
    this.#pool = openPool({ uri: place.uri, applicationName: 'sealer', settings, log, maxConnections: 6 });
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  async play({ first, commands, endsWithProject }: Sequence): Promise<void> {
    const { client, store } = this.#place;
    const tenantId = randomUUID();
    // days of the sequences before are not sealed by this one
    await client.query('DELETE FROM run_statistics');
    await client.query('DELETE FROM lake_days');
    const game = new Game(this.#place, this.#pool, tenantId);
    for (const one of first) await game.change(one);
    for (const one of commands) {
      await game.perform(one);
      await game.compare();
      if (one.kind === 'seal' || one.kind === 'tidy') await game.readTable();
      if (one.kind === 'seal') await game.compareExport();
    }
    await game.compareExport();
    for (let round = 0; round < 2; round++) {
      await game.perform({ kind: 'hurry' });
      await game.perform({ kind: 'seal', fileBytes: undefined, interruption: undefined });
    }
    await game.letDaysPass();
    await game.compare();
    await game.compareExport();
    await game.compareRuns();
    await game.compareObjects();
    await game.compareTable();
    if (!endsWithProject) return;
    await store.projects.delete(tenantId, await game.projectId());
    await store.tidy();
    await game.letDaysPass();
    expect(await game.objects()).toEqual([]);
  }
}

/** Rows and model of one moment. */
interface Backup {
  readonly rows: SavedRows;
  readonly runs: readonly ModelRun[];
  readonly hours: number;
}

class Game {
  #runs: ModelRun[] = [];
  #backup: Backup | undefined;
  readonly #place: SequencePlace;
  #count = 0;

  constructor(
    place: SequencePlace,
    private readonly pool: Pool,
    private readonly tenantId: string,
  ) {
    this.#place = place;
  }

  async perform(command: Command): Promise<void> {
    const { client } = this.#place;
    switch (command.kind) {
      case 'seal':
        return this.#seal(command);
      case 'hurry':
        await client.query('UPDATE lake_days SET erase_before = now() WHERE erase_before IS NOT NULL');
        return;
      case 'tidy':
        return this.#tidyAfter(2);
      case 'back up':
        this.#backup = { rows: await saveRows(client, this.tenantId), runs: [...this.#runs], hours: 0 };
        return;
      case 'restore':
        if (!this.#backup) return;
        await this.#backup.rows.restore(client);
        this.#runs = [...this.#backup.runs];
        return;
      case 'post':
      case 'patch':
      case 'post again':
      case 'upgrade':
      case 'erase':
        return this.change(command);
      default:
        return command satisfies never;
    }
  }

  /** A worker publishes before it removes objects. A backup that is older than these is of no use any more. */
  async #tidyAfter(hours: number): Promise<void> {
    const { client, store } = this.#place;
    const columns = { lake_segments: 'former_since', lake_tables: 'behind_since', lake_garbage: 'since' };
    for (const [table, column] of Object.entries(columns))
      await client.query(`UPDATE ${table} SET ${column} = ${column} - make_interval(secs => $1 * 3600)`, [
        hours,
      ]);
    if (this.#backup) this.#backup = { ...this.#backup, hours: this.#backup.hours + hours };
    if (this.#backup && this.#backup.hours >= KEPT_HOURS) this.#backup = undefined;
    await client.query(`UPDATE lake_searches SET searched_at = '-infinity'`);
    await store.lake?.publish({ signal: SIGNAL });
    await store.lake?.tidy();
  }

  /** The first time finds what no row names, the second publishes tables again, the third deletes their former objects. */
  async letDaysPass(): Promise<void> {
    for (let time = 0; time < 3; time++) await this.#tidyAfter(24 * 10);
  }

  /** A worker seals what is due, unless it dies; then its lease ends. */
  async #seal({
    fileBytes,
    interruption: interrupted,
  }: Pick<Extract<Command, { kind: 'seal' }>, 'fileBytes' | 'interruption'>): Promise<void> {
    const steps = new Steps(interrupted, (one) => this.change(one));
    const lake = { ...this.#place.lake, fileBytes, store: steps.store(this.#place.lake.store) };
    const sealer = new DaySealer({
      pool: steps.pool(this.pool),
      payloads: new PostgresPayloadStore(new SegmentReader(lake)),
      options: lake,
      log: createLogger('test', 'silent'),
      clock: systemClock,
    });
    try {
      // the second look finds that nothing has changed since the first
      for (let look = 0; look < 2; look++) await sealer.look();
      while (await sealer.sealNext({ signal: SIGNAL }));
      await sealer.publish({ signal: SIGNAL });
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      await this.#place.client.query(
        `UPDATE lake_days SET sealing_since = sealing_since - interval '2 minutes' WHERE sealing_since IS NOT NULL`,
      );
    }
  }

  async change(one: Change): Promise<void> {
    const { store } = this.#place;
    if (one.kind === 'post') return this.#post(one);
    const at = this.#at(one.run);
    const found = at === undefined ? undefined : this.#runs[at];
    if (at === undefined || !found) return;
    switch (one.kind) {
      case 'patch': {
        const tags = one.tag === 0 ? {} : { tags: [`tag ${one.tag}`] };
        await this.#send('patch', { id: found.id, trace_id: found.id, ...tags }, one.payloads);
        this.#runs[at] = { ...found, payloads: { ...found.payloads, ...one.payloads } };
        return;
      }
      case 'post again':
        await this.#send('post', this.#create(found), one.payloads);
        this.#runs[at] = { ...found, payloads: { ...one.payloads, ...found.payloads } };
        return;
      case 'upgrade':
        await store.retention.upgrade(this.tenantId, found.id);
        return;
      case 'erase':
        await store.erasures.erase(this.tenantId, await this.projectId(), {
          traceIds: [found.id],
          threadIds: [],
        });
        this.#runs[at] = { ...found, isErased: true };
        return;
      default:
        one satisfies never;
    }
  }

  async projectId(): Promise<string> {
    return (await this.#place.store.projects.ensure(this.tenantId, 'default')).id;
  }

  async #post({ day, isShort, payloads: sent }: Extract<Change, { kind: 'post' }>): Promise<void> {
    const made = { id: randomUUID(), day, payloads: sent, isErased: false };
    await this.#send(
      'post',
      { ...this.#create(made), trace_tier: isShort ? 'shortlived' : 'longlived' },
      sent,
    );
    this.#runs.push(made);
  }

  #create({ id, day }: Pick<ModelRun, 'id' | 'day'>) {
    const start_time = `${DAYS[day]}T10:00:00Z`;
    return { id, trace_id: id, name: `run ${this.#count++}`, run_type: 'llm', start_time };
  }

  async #send(kind: 'post' | 'patch', sent: object, texts: Texts): Promise<void> {
    const fields = Object.fromEntries(Object.entries(texts).map(([name, one]) => [name, Buffer.from(one)]));
    const batch = { post: [], patch: [], [kind]: [{ run: Buffer.from(JSON.stringify(sent)), fields }] };
    expect((await this.#place.store.ingest(this.tenantId, batch)).refused).toEqual([]);
  }

  /** Any run that was not erased. */
  #at(number: number): number | undefined {
    const alive = this.#runs.flatMap(({ isErased }, at) => (isErased ? [] : [at]));
    return alive.length === 0 ? undefined : alive[number % alive.length];
  }

  get #alive(): ReadonlyMap<string, Texts> {
    const alive = this.#runs.filter(({ isErased }) => !isErased);
    return new Map(alive.map(({ id, payloads: own }) => [id, own]));
  }

  /** A list has every run once, with its payloads; each has them in one place. */
  async compare(): Promise<void> {
    const { store, client } = this.#place;
    const page = { order: 'descending', limit: 100, fields: PAYLOAD_FIELDS, maxBytes: 1 << 30 } as const;
    const { runs } = await store.runs.search(this.tenantId, {}, page);
    expect(runs).toHaveLength(this.#alive.size);
    const found = new Map(runs.map(({ row, payloads: own }) => [row.id, textsOf(own)]));
    expect(found).toEqual(this.#alive);
    const { rows } = await client.query(
      `SELECT r.id FROM runs r LEFT JOIN run_payloads p USING (tenant_id, project_id, start_time, id, trace_id)
      WHERE r.tenant_id = $1 AND (p.id IS NULL) = (r.segment IS NULL)`,
      [this.tenantId],
    );
    expect(rows).toEqual([]);
  }

  /** An export has every run once, in its order, with the payloads that exports have. */
  async compareExport(): Promise<void> {
    const [startTime, endTime] = [timeOf(`${DAYS[0]}T00:00:00Z`), timeOf(`${DAYS[1]}T23:59:59Z`)];
    const window = { tenantId: this.tenantId, projectId: await this.projectId(), startTime, endTime };
    const { rows } = await exportFiles(this.#place.store.exportSource, window);
    const found = rows.map(({ id, inputs, outputs, events }) => [id, given({ inputs, outputs, events })]);
    const wanted = [...this.#alive].map(([id, { serialized: _, ...own }]) => [id, given(own)] as const);
    const dayOf = new Map(this.#runs.map(({ id, day }) => [id, day]));
    const place = (id: string): string => `${dayOf.get(id) ?? ''} ${id}`;
    wanted.sort(([one], [other]) => (place(one) < place(other) ? -1 : 1));
    expect(found).toEqual(wanted);
  }

  /** Each run alone. */
  async compareRuns(): Promise<void> {
    for (const { id, payloads: own, isErased } of this.#runs) {
      const found = await this.#place.store.runs.get(this.tenantId, id);
      expect(found && textsOf(found.payloads)).toEqual(isErased ? undefined : own);
    }
  }

  async objects(): Promise<readonly string[]> {
    return (await this.#place.keys()).filter((key) => key.includes(this.tenantId));
  }

  /** The table has every run once, and consists of the only objects beside the files of rows. */
  async compareTable(): Promise<void> {
    const table = await this.readTable();
    expect(table?.ids ?? []).toEqual([...this.#alive.keys()].sort());
    const known = [...(table?.objects ?? []), ...(table?.files ?? [])];
    expect(known.sort()).toEqual(await this.objects());
  }

  /** @throws Error when an object of the table is missing */
  async readTable(): Promise<PublishedTable | undefined> {
    return readTable(this.#place.lake, this.tenantId, await this.projectId());
  }

  /** Every object has a row and every row an object; the sums of days are those of the runs. */
  async compareObjects(): Promise<void> {
    const { client } = this.#place;
    const segments = await client.query<{ key: string; state: string }>(
      'SELECT key, state FROM lake_segments WHERE tenant_id = $1 ORDER BY key COLLATE "C"',
      [this.tenantId],
    );
    const files = (await this.objects()).filter((key) => key.endsWith('.parquet'));
    expect(segments.rows.map(({ key }) => key)).toEqual(files);
    expect(segments.rows.filter(({ state }) => state !== 'sealed')).toEqual([]);
    await this.#place.store.lake?.look();
    const { rows } = await client.query<{ named: string; counted: string }>(
      `SELECT (SELECT count(*) FROM runs WHERE tenant_id = $1 AND segment IS NOT NULL) AS named,
        (SELECT coalesce(sum(sealed_rows - gone_rows), 0) FROM lake_days WHERE tenant_id = $1) AS counted`,
      [this.tenantId],
    );
    expect(rows[0]?.counted).toBe(rows[0]?.named);
  }
}

const timeOf = (text: string) => parseInstant(text, { zone: 'required' }) ?? 0n;

function given(payloads: object): object {
  return Object.fromEntries(Object.entries(payloads).filter(([, value]) => typeof value === 'string'));
}

function textsOf(own: object): Texts {
  return Object.fromEntries(Object.entries(own).map(([name, bytes]) => [name, (bytes as Buffer).toString()]));
}
