import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listenOn } from '#lib/http';
import { postWebhook } from './post-webhook.js';
import { webhookGuard } from './webhook-guard.js';

const LOOPBACK = '127.0.0.1';

describe('a webhook to a name that resolves differently each time', () => {
  let port = 0;
  let calls = 0;
  const receiver = createServer((_call, answer) => {
    calls++;
    // to where nothing listens that a test may reach
    answer.writeHead(307, { location: 'http://169.254.169.254/latest/meta-data/' }).end();
  });

  beforeAll(async () => {
    port = await listenOn(receiver, { host: LOOPBACK, port: 0 });
  });
  afterAll(() => {
    receiver.closeAllConnections();
    receiver.close();
  });

  /** Each look-up finds the next list; those of several addresses mix what may be called with what may not. */
  const post = (allowPrivate: boolean, ...answers: readonly (readonly string[])[]) => {
    const left = [...answers];
    const guard = webhookGuard({
      allowPrivate,
      advice: 'allow it',
      resolve: (_name, _options, found) =>
        found(
          null,
          (left.shift() ?? []).map((address) => ({ address, family: 4 })),
        ),
    });
    return {
      ahead: () => new Promise<Error | undefined>((resolve) => guard.judgeAhead('hook.example', resolve)),
      call: () => postWebhook({ url: `http://hook.example:${port}/`, headers: {}, body: '{}' }, guard),
    };
  };

  it('refuses by the address that it would call, whatever was found before', async () => {
    const { ahead, call } = post(false, ['8.8.8.8'], [LOOPBACK]);
    expect(await ahead()).toBeUndefined();
    expect(await call()).toMatchObject({ kind: 'refused', isFinal: true });
    expect(calls).toBe(0);
  });

  it.each([
    ['one private address among others', false, ['8.8.8.8', LOOPBACK]],
    ['the address of metadata where private networks may be called', true, [LOOPBACK, '169.254.169.254']],
  ])('refuses %s', async (_what, allowPrivate, addresses) => {
    expect(await post(allowPrivate, addresses).call()).toMatchObject({ kind: 'refused', isFinal: true });
    expect(calls).toBe(0);
  });

  it('follows no redirect of the receiver that it called', async () => {
    const why = 'the receiver answered 307; redirects are not followed';
    expect(await post(true, [LOOPBACK]).call()).toEqual({ kind: 'refused', why, isFinal: false });
    expect(calls).toBe(1);
  });
});
