import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { Rest } from '../support/rest.js';

describe('a platform whose credentials.json was lost', () => {
  const dataFolder = newDataFolder();
  let platform: Platform | undefined;
  afterAll(async () => {
    await platform?.stop();
    removeDataFolder(dataFolder);
  });

  it('makes a key for the same workspace, and names the older one, which still works', async () => {
    platform = await startPlatform(dataFolder);
    const before = platform.credentials;
    expect(platform.greeting).not.toContain('still works');
    await platform.stop();
    rmSync(join(dataFolder, 'credentials.json'));
    platform = await startPlatform(dataFolder);
    expect(platform.credentials.tenantId).toBe(before.tenantId);
    expect(platform.credentials.apiKey).not.toBe(before.apiKey);
    const [, id = ''] = before.apiKey.split('_');
    expect(platform.greeting).toContain(`keys revoke ${id} --data`);
    const rest = new Rest(platform.credentials);
    expect((await rest.get('/v2/deployments')).status).toBe(200);
    const old = new Rest({ ...platform.credentials, apiKey: before.apiKey });
    expect((await old.get('/v2/deployments')).status).toBe(200);
  });
});
