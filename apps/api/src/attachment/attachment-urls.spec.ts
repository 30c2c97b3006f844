import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { ExampleRow } from '#lib/trace-store';
import { systemClock } from '#lib/time';
import { AttachmentUrls, type UrlParts } from './attachment-urls.js';

describe('URLs of attachments', () => {
  it('signs those of one example in a turn of the event loop', async () => {
    const store = { urlKey: randomBytes(32), keyOf: (_tenant: string, id: string) => `k/${id}` };
    const urls = new AttachmentUrls({
      store: store as UrlParts['store'],
      table: { ofRuns: async () => [] },
      clock: systemClock,
      publicUrl: 'https://traces.example',
    });
    const attachments = [{ name: 'a', objectId: randomUUID(), contentType: 'text/plain' }];
    const examples = ['1', '2', '3', '4'].map((id) => ({ id, attachments }) as unknown as ExampleRow);
    let [turns, isOver, held] = [0, false, 0];
    const turn = (): void => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const reader = {
      caller: { tenantId: randomUUID() },
      origin: '',
      hold: (bytes: number): void => void (held += bytes),
    };
    const found = await urls.ofExamples(reader, examples);
    isOver = true;
    expect(turns).toBeGreaterThanOrEqual(3);
    expect([...found.keys()]).toEqual(['1', '2', '3', '4']);
    expect(found.get('4')?.get('a')?.presigned_url).toMatch(/^https:\/\/traces\.example\/attachments\//);
    expect(held).toBe(4 * 1_500);
  });
});
