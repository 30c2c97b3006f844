import { createServer } from 'node:net';
import { findStablePort, isPortFree } from './stable-port.js';

describe('findStablePort', () => {
  it('stays below the ports of outgoing connections', async () => {
    const port = await findStablePort();
    expect(port).toBeGreaterThanOrEqual(20_000);
    expect(port).toBeLessThan(30_000);
  });

  it('skips ports that are taken or reserved', async () => {
    const choices = [0.1, 0.2, 0.3];
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(21_000, '127.0.0.1', resolve));
    expect(await isPortFree(21_000)).toBe(false);
    const port = await findStablePort(
      (one) => one !== 22_000,
      () => choices.shift() ?? 0.9,
    );
    expect(port).toBe(23_000);
    await new Promise((resolve) => server.close(resolve));
    expect(await isPortFree(21_000)).toBe(true);
  });
});
