import { Auth, HTTPException } from '@langchain/langgraph-sdk/auth';
import { appendFileSync } from 'node:fs';

/** As the errors of a library that verifies tokens. */
class TokenExpired extends Error {
  readonly code = 'ERR_JWT_EXPIRED';
}

/** As it was before a handler changed it. */
function note(event: string, value: unknown): void {
  const file = process.env['VALUES_FILE'];
  if (file) appendFileSync(file, `${JSON.stringify({ event, value })}\n`);
}

/** What a caller with the permission `edited` runs is changed in every way that is honoured. */
function edit(value: { kwargs: unknown; metadata?: Record<string, unknown> }): void {
  const { input, command } = value.kwargs as {
    input?: { messages: { content: string }[] };
    command?: { resume: unknown };
  };
  for (const message of input?.messages ?? []) message.content = `edited ${message.content}`;
  value.kwargs = {
    input,
    command: command && { ...command, resume: `edited ${JSON.stringify(command.resume)}` },
    config: { configurable: { tier: 'gold' }, recursion_limit: 20 },
    context: { plan: 'pro' },
  };
  value.metadata = { tag: 'edited' };
}

/** What each token is worth. The tokens of people are `NAME` or `NAME:PERMISSION,PERMISSION`. */
const SPECIAL: Readonly<Record<string, () => unknown>> = {
  hang: () => new Promise(() => undefined),
  broken: () => {
    throw new Error('the secret of the identity provider is hunter2');
  },
  expired: () => {
    throw new TokenExpired('"exp" claim timestamp check failed');
  },
  teapot: () => {
    throw new HTTPException(418, { message: 'I am a teapot', headers: { 'x-tea': 'green' } });
  },
  wordy: () => {
    throw new HTTPException(403, { message: { code: 7 } as never });
  },
  nobody: () => ({ permissions: [] }),
  'no-subject': () => '',
  'odd-subject': () => ({ identity: { sub: 'x' } }),
  'nul-subject': () => ({ identity: 'a\0b' }),
  text: () => 'mallory',
};

export const auth = new Auth()
  .authenticate(async (request) => {
    if (process.env['CALLS_FILE'])
      appendFileSync(process.env['CALLS_FILE'], `${request.method} ${request.url}\n`);
    const bearer = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1];
    const token = bearer ?? /(?:^|; *)session=([^;]+)/.exec(request.headers.get('cookie') ?? '')?.[1];
    if (token === undefined)
      throw new HTTPException(401, { message: 'Show a token', headers: { 'www-authenticate': 'Bearer' } });
    const special = SPECIAL[token];
    if (special) return (await special()) as string;
    const [identity = '', permissions = ''] = token.split(':');
    if (permissions.includes('nostore') && new URL(request.url).pathname.startsWith('/store'))
      throw new HTTPException(403, { message: 'No store' });
    return {
      identity,
      permissions: permissions.split(',').filter(Boolean),
      secret: `secret-of-${identity}`,
      team: 'a',
    };
  })
  .on('*', ({ event, value, user }) => {
    note(event, value);
    if (user.permissions.includes('admin')) return undefined;
    if (user.permissions.includes('team') && event.startsWith('threads:')) return undefined;
    if (event === 'threads:create' && user.permissions.includes('threadless')) return false;
    if (event === 'threads:create_run') {
      if (user.permissions.includes('idle')) return false;
      if (user.permissions.includes('edited')) edit(value as never);
    }
    if ('metadata' in value) {
      value.metadata ??= {};
      value.metadata['owner'] = user.identity;
    }
    return { owner: user.identity };
  })
  .on('crons:update', ({ value, user }) => {
    if (['admin', 'crons'].some((name) => user.permissions.includes(name))) return undefined;
    const { metadata }: { metadata?: Record<string, unknown> } = value as never;
    if (metadata) metadata['owner'] = user.identity;
    return { owner: user.identity };
  })
  .on('threads:delete', ({ user }) => (user.permissions.includes('keep') ? false : { owner: user.identity }))
  .on('store', ({ value, user }) => {
    if (user.permissions.includes('admin')) return true;
    const namespace = [...(value.namespace ?? [])];
    if (namespace[0] !== user.identity) value.namespace = [user.identity, ...namespace];
    return true;
  })
  .on('assistants:search', ({ user }) => {
    if (user.permissions.includes('odd')) return { owner: { $like: 'a%' } } as never;
    if (user.permissions.includes('none')) return { level: Number(undefined) } as never;
    if (user.permissions.includes('broken')) throw new Error('the search handler broke');
    return { owner: user.identity };
  });
