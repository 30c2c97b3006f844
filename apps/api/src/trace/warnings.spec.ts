import pg from 'pg';
import { testApi } from '../testdata/test-api.js';

const { api, tenant } = testApi();

describe('GET /v1/warnings', () => {
  it('names databases that every role may connect to, until the statement that it gives has run', async () => {
    const before = await tenant.call('GET', '/v1/warnings');
    expect(before).toMatchObject({
      status: 200,
      json: {
        warnings: [
          {
            message: 'every role may connect to databases of the platform; close them',
            mend: expect.stringMatching(/^REVOKE CONNECT, TEMPORARY ON DATABASE ".*" FROM PUBLIC$/),
          },
        ],
      },
    });
    const client = new pg.Client({ connectionString: api.storeUri });
    await client.connect();
    await client.query(String(before.json.warnings[0].mend));
    await client.end();
    expect((await tenant.call('GET', '/v1/warnings')).json).toEqual({ warnings: [] });
  });
});
