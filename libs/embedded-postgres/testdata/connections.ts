import pg from 'pg';

/** Connections of a test, all of which are closed after it. */
export class Connections {
  readonly #open: pg.Client[] = [];

  async to(uri: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: uri });
    client.on('error', () => undefined);
    await client.connect();
    this.#open.push(client);
    return client;
  }

  async query(uri: string, text: string): Promise<Record<string, unknown>[]> {
    const client = await this.to(uri);
    const { rows } = await client.query<Record<string, unknown>>(text);
    await client.end();
    return rows;
  }

  /** Opens as many as are granted, at most `most`; answers their number. */
  async fill(uri: string, most: number): Promise<number> {
    for (let made = 0; made < most; made++) {
      const opened = await this.to(uri).catch((error: unknown) => error);
      if (!(opened instanceof pg.Client)) {
        expect(opened).toMatchObject({ code: '53300' });
        return made;
      }
    }
    return most;
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.splice(0).map((client) => client.end().catch(() => undefined)));
  }
}
