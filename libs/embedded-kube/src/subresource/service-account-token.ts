import type { Clock } from '#lib/time';
import {
  badRequest,
  conflict,
  forbidden,
  invalid,
  listAt,
  notFound,
  numberAt,
  recordAt,
  textAt,
  textsAt,
  timestamp,
  withField,
} from '#lib/kube-semantics';
import { nodeOf } from '../authn/user.js';
import { json, type RequestContext } from '../http/request-context.js';
import { type BoundObject, ISSUER, type TokenIssuer } from '../pki/token-issuer.js';
import { writeOptions } from '../registry/write-options.js';
import type { ObjectStore } from '../store/object-store.js';
import { readReview, type SubresourceHandler } from './subresource-handlers.js';

const MIN_SECONDS = 600;
const MAX_SECONDS = 2 ** 32;
/** A node renews the tokens of its pods in time; one that is stolen from it should not outlive the day. */
const MAX_NODE_SECONDS = 86_400;
const DEFAULT_SECONDS = 3600;
const ACCOUNTS = { group: '', resource: 'serviceaccounts' };

/** TokenRequest: a token for a service account, bound to one of its pods when asked. */
export function serviceAccountToken(
  store: ObjectStore,
  tokens: TokenIssuer,
  clock: Clock,
): SubresourceHandler {
  return {
    group: '',
    version: 'v1',
    resource: 'serviceaccounts',
    subresource: 'token',
    handle: async (context) => {
      const { namespace, name } = context.info;
      if (writeOptions(context, 'CreateOptions').dryRun)
        throw badRequest('a token that is issued is good: dryRun is not supported for it');
      const request = await readReview(context, 'authentication.k8s.io/v1', 'TokenRequest');
      const account = store.get({ resource: 'serviceaccounts', namespace, name });
      if (!account) throw notFound(ACCOUNTS, name);
      const asked = numberAt(request, ['spec', 'expirationSeconds'], DEFAULT_SECONDS);
      checkExpiration(asked);
      const given = textsAt(request, 'spec', 'audiences');
      const audiences = given.length > 0 ? given : [ISSUER];
      const reference = recordAt(request, 'spec', 'boundObjectRef');
      const node = nodeOf(context.user);
      if (node !== undefined) checkNodeRequest(context, { node, reference, audiences: given }, store);
      // a real API server with a maximum token lifetime does the same: the answer reports the lifetime that
      // was granted
      const expirationSeconds = node === undefined ? asked : Math.min(asked, MAX_NODE_SECONDS);
      const boundTo = boundObject(context, reference, store);
      const now = clock.now();
      const subject = {
        namespace,
        name,
        uid: account.object.metadata.uid ?? '',
        ...(boundTo ? { boundTo } : {}),
      };
      const token = await tokens.issue({ subject, audiences, expirationSeconds, now });
      const expirationTimestamp = timestamp(new Date(now.getTime() + expirationSeconds * 1000));
      const spec = { ...recordAt(request, 'spec'), audiences, expirationSeconds };
      const metadata = { ...request.metadata, name, namespace, creationTimestamp: timestamp(now) };
      return json(
        {
          ...withField(withField(request, 'spec', spec), 'status', { token, expirationTimestamp }),
          metadata,
        },
        201,
      );
    },
  };
}

function checkExpiration(seconds: number): void {
  const detail =
    seconds < MIN_SECONDS
      ? 'may not specify a duration less than 10 minutes'
      : 'may not specify a duration larger than 2^32 seconds';
  if (seconds >= MIN_SECONDS && seconds <= MAX_SECONDS) return;
  const message = `Invalid value: ${seconds}: ${detail}`;
  throw invalid({ group: 'authentication.k8s.io', kind: 'TokenRequest' }, '', [
    { reason: 'FieldValueInvalid', field: 'spec.expirationSeconds', message },
  ]);
}

interface NodeRequest {
  readonly node: string;
  readonly reference: Readonly<Record<string, unknown>>;
  readonly audiences: readonly string[];
}

/** Nodes get tokens for the pods that are bound to them and no others. Throws 403 in the words of NodeRestriction. */
function checkNodeRequest(
  { info: { namespace, name } }: RequestContext,
  { node, reference, audiences }: NodeRequest,
  store: ObjectStore,
): void {
  const refuse = (why: string): never => {
    throw forbidden(ACCOUNTS, name, why);
  };
  const podName = textAt(reference, ['name']);
  if (textAt(reference, ['kind']) !== 'Pod' || textAt(reference, ['apiVersion']) !== 'v1' || podName === '')
    refuse('node requested token not bound to a pod');
  if (textAt(reference, ['uid']) === '') refuse('node requested token with a pod binding without a uid');
  const pod = store.get({ resource: 'pods', namespace, name: podName })?.object;
  if (!pod) throw notFound({ group: '', resource: 'pods' }, podName);
  if (textAt(pod, ['spec', 'nodeName']) !== node)
    refuse('node requested token bound to a pod scheduled on a different node');
  const ofVolumes = listAt(pod, 'spec', 'volumes')
    .flatMap((volume) => listAt(volume, 'projected', 'sources'))
    .map((source) => textAt(source, ['serviceAccountToken', 'audience']));
  const foreign = audiences.find((audience) => audience !== ISSUER && !ofVolumes.includes(audience));
  if (foreign !== undefined) refuse(`audience "${foreign}" not found in pod spec volume`);
}

function boundObject(
  { info: { namespace, name } }: RequestContext,
  reference: Readonly<Record<string, unknown>>,
  store: ObjectStore,
): BoundObject | undefined {
  const kind = textAt(reference, ['kind']);
  if (kind === '') return undefined;
  if (kind !== 'Pod' && kind !== 'Secret')
    throw badRequest(`cannot bind token for serviceaccount to object of type ${kind}`);
  const resource = kind === 'Pod' ? 'pods' : 'secrets';
  const boundName = textAt(reference, ['name']);
  const found = store.get({ resource, namespace, name: boundName });
  if (!found) throw notFound({ group: '', resource }, boundName);
  const uid = found.object.metadata.uid ?? '';
  const asked = textAt(reference, ['uid']);
  if (asked !== '' && asked !== uid) {
    throw conflict(
      { group: '', resource },
      boundName,
      `the UID in the bound object reference (${asked}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  if (kind === 'Pod' && textAt(found.object, ['spec', 'serviceAccountName']) !== name) {
    throw forbidden(
      ACCOUNTS,
      name,
      `cannot bind token for serviceaccount "${name}" to pod running with different serviceaccount name.`,
    );
  }
  return { kind, name: boundName, uid };
}
