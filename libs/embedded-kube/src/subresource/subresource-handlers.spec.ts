import { describe, expect, it } from '@jest/globals';
import type { ApiError } from '#lib/kube-semantics';
import { HeldAnswers } from '../http/held-answers.js';
import { json, type RequestContext } from '../http/request-context.js';
import { SubresourceHandlers } from './subresource-handlers.js';

const PLACE = { group: 'g', version: 'v1', resource: 'reviews', subresource: '' };

describe('SubresourceHandlers', () => {
  it('counts large answers that are not read, and says of a write that it was carried out', async () => {
    const handle = () => Promise.resolve(json({ text: 'x'.repeat(600_000) }, 201));
    const handlers = new SubresourceHandlers([{ ...PLACE, handle }], new HeldAnswers(1_000_000));
    const reading = new AbortController();
    const ask = (verb: string, signal: AbortSignal): Promise<unknown> => {
      const user = { username: 'slow', groups: [] };
      const context = { info: { ...PLACE, verb }, user, signal } as unknown as RequestContext;
      const found = Promise.resolve(handlers.find(context.info)?.(context));
      return found.then(
        (reply) => reply?.kind === 'json' && reply.code,
        ({ code }: ApiError) => code,
      );
    };
    const { signal } = new AbortController();
    expect(await ask('create', reading.signal)).toBe(201);
    expect([await ask('create', signal), await ask('update', signal)]).toEqual([429, 504]);
    reading.abort();
    expect(await ask('create', signal)).toBe(201);
  });
});
