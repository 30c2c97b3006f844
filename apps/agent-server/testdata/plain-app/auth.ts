import { Auth, HTTPException } from '@langchain/langgraph-sdk/auth';

/** Whoever shows a token is who the token says. */
export const auth = new Auth().authenticate((request) => {
  const identity = request.headers.get('authorization')?.replace('Bearer ', '');
  if (!identity) throw new HTTPException(401, { message: 'Show a token' });
  return { identity, permissions: [] };
});
