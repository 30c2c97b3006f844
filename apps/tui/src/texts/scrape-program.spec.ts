import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Pod } from '#lib/resources';
import { metricsAddressOf, scrapeProgram } from './look-at-programs.js';

function podWith(noted: string | undefined): Pod {
  const annotations: Record<string, string> = {};
  if (noted !== undefined) annotations['agentplane.dev/loopback-ports'] = noted;
  return {
    metadata: { name: 'a', annotations },
    spec: { containers: [] },
    status: { phase: 'Running' },
  };
}

describe('what reads the metrics of a pod', () => {
  it.each([
    ['{"9464":20001,"8000":20002}', 'http://127.0.0.1:20001/metrics'],
    ['{"8000":20002}', undefined],
    ['{"9464":"1@example.org"}', undefined],
    ['{"9464":1.5}', undefined],
    ['[]', undefined],
    ['null', undefined],
    ['no JSON', undefined],
    [undefined, undefined],
  ])('takes no more than a port from the note %s', (noted, address) => {
    expect(metricsAddressOf(podWith(noted))).toBe(address);
  });

  it('refuses an answer of a pod that has no end', async () => {
    let sent = 0;
    const piece = Buffer.alloc(65_536, 'a 1\n');
    const server = createServer(({ url }, response) => {
      if (url === '/short') return void response.end('a 1\n');
      const send = (): void => {
        do sent += piece.length;
        while (response.write(piece));
        response.once('drain', send);
      };
      send();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const { signal } = new AbortController();
      expect([...(await scrapeProgram(`${at}/short`, signal)).keys()]).toEqual(['a']);
      await expect(scrapeProgram(`${at}/endless`, signal)).rejects.toThrow('longer than 4194304 bytes');
      expect(sent).toBeLessThan(64 * 1_048_576);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
