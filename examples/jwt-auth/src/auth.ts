import { Auth, HTTPException } from '@langchain/langgraph-sdk/auth';
import { jwtVerify } from 'jose';

const secret = process.env['JWT_SECRET'];
if (!secret)
  throw new Error('JWT_SECRET is not set; set it to the secret that signs the tokens of your users');
const key = new TextEncoder().encode(secret);

/** The claims of a token that this agent knows; `scope` is a list of words with blanks between them. */
interface Claims {
  readonly name?: string;
  readonly scope?: string;
}

export const auth = new Auth()
  .authenticate(async (request) => {
    const token = /^Bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1];
    if (token === undefined)
      throw new HTTPException(401, {
        message: 'Send a token as Authorization: Bearer TOKEN',
        headers: { 'www-authenticate': 'Bearer' },
      });
    // a token that is expired, forged or meant for somebody else becomes 401
    const { payload } = await jwtVerify<Claims>(token, key, {
      algorithms: ['HS256'],
      audience: 'agent',
      requiredClaims: ['sub', 'exp'],
    });
    const { sub = '', name, scope = '' } = payload;
    return { identity: sub, display_name: name ?? sub, permissions: scope.split(' ').filter(Boolean) };
  })
  // Everything belongs to whoever made it. Whoever may support others sees everything and owns nothing.
  .on('*', ({ value, user }) => {
    if (user.permissions.includes('support')) return true;
    if ('metadata' in value) {
      value.metadata ??= {};
      value.metadata['owner'] = user.identity;
    }
    return { owner: user.identity };
  })
  .on(['assistants:create', 'assistants:update', 'assistants:delete'], ({ user }) =>
    user.permissions.includes('support'),
  )
  // Items are kept below the name of their owner, whatever the caller asks for.
  .on('store', ({ value, user }) => {
    value.namespace = [user.identity, ...(value.namespace ?? [])];
    return true;
  });
