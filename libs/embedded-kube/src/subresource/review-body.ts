import { badRequest, type KubeObject } from '#lib/kube-semantics';
import type { RequestContext } from '../http/request-context.js';
import { asObject, readObject } from '../registry/body.js';

/** Reads the body of a request that is answered and not stored. */
export async function readReview(
  context: RequestContext,
  apiVersion: string,
  kind: string,
): Promise<KubeObject> {
  const body = await readObject(context);
  if (!body) throw badRequest('the request body is empty');
  return asObject(body, { apiVersion, kind });
}
