import type { Readable } from 'node:stream';
import { errorText } from '#lib/errors';
import {
  ApiError,
  at,
  badRequest,
  internalError,
  invalid,
  type KubeObject,
  listAt,
  notFound,
  numberAt,
  type StatusCause,
  textAt,
} from '#lib/kube-semantics';
import type { NodeLogAnswer, NodeLogDialer } from '../api-server-options.js';
import type { AnswerStream, Reply, RequestContext } from '../http/request-context.js';
import { parseCount } from '../list/list-options.js';
import type { ObjectStore } from '../store/object-store.js';
import type { SubresourceHandler } from './subresource-handlers.js';

const TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Throws 400 or 422 for options of a log that say nothing or contradict each other. */
function checkLogOptions(query: URLSearchParams, podName: string): void {
  const causes = [
    ...atLeast(query, 'tailLines', 0, 'must be greater than or equal to 0'),
    ...atLeast(query, 'limitBytes', 1, 'must be greater than 0'),
    ...checkSince(query),
  ];
  if (causes.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, podName, causes);
}

function checkSince(query: URLSearchParams): readonly StatusCause[] {
  const time = query.get('sinceTime') ?? '';
  if (time !== '' && !TIME.test(time)) {
    const layout = '2006-01-02T15:04:05Z07:00';
    throw badRequest(
      `parsing time ${JSON.stringify(time)} as "${layout}": cannot parse ${JSON.stringify(time)} as "2006"`,
    );
  }
  if (time !== '' && query.get('sinceSeconds')) {
    const message = 'Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified';
    return [{ reason: 'FieldValueForbidden', field: '<nil>', message }];
  }
  return atLeast(query, 'sinceSeconds', 1, 'must be greater than 0');
}

function atLeast(query: URLSearchParams, field: string, least: number, why: string): readonly StatusCause[] {
  const text = query.get(field);
  if (text === null || text === '') return [];
  const value = parseCount(text);
  if (value >= least) return [];
  return [{ reason: 'FieldValueInvalid', field, message: `Invalid value: ${value}: ${why}` }];
}

const PASSED_ON = [
  'follow',
  'previous',
  'sinceSeconds',
  'sinceTime',
  'timestamps',
  'tailLines',
  'limitBytes',
];
const DEFAULT_NODE_PORT = 10250;
const MAX_REFUSAL_BYTES = 4 * 1024;

/** `pods/NAME/log`: the log of a container, passed on from the node that runs it. */
export function podLog(store: ObjectStore, dial: NodeLogDialer): SubresourceHandler {
  return {
    group: '',
    version: 'v1',
    resource: 'pods',
    subresource: 'log',
    handle: async (context) => {
      const { namespace, name } = context.info;
      const pod = store.get({ resource: 'pods', namespace, name })?.object;
      if (!pod) throw notFound({ group: '', resource: 'pods' }, name);
      checkLogOptions(context.query, name);
      const container = containerName(pod, context.query.get('container') ?? '');
      const nodeName = textAt(pod, ['spec', 'nodeName']);
      if (nodeName === '') return text('');
      const node = store.get({ resource: 'nodes', namespace: '', name: nodeName })?.object;
      if (!node) throw notFound({ group: '', resource: 'nodes' }, nodeName);
      const path = `/containerLogs/${namespace}/${name}/${container}${logQuery(context)}`;
      return passOn(await dialled(dial, node, path, context));
    },
  };
}

function containerName(pod: KubeObject, asked: string): string {
  const name = pod.metadata.name ?? '';
  const own = listAt(pod, 'spec', 'containers').map((container) => textAt(container, ['name']));
  const init = listAt(pod, 'spec', 'initContainers').map((container) => textAt(container, ['name']));
  if (asked !== '') {
    if ([...own, ...init].includes(asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${name}`);
  }
  const only = own[0];
  if (own.length === 1 && init.length === 0 && only !== undefined) return only;
  const choice =
    init.length > 0
      ? `choose one of: [${own.join(' ')}] or one of the init containers: [${init.join(' ')}]`
      : `choose one of: [${own.join(' ')}]`;
  throw badRequest(`a container name must be specified for pod ${name}, ${choice}`);
}

function logQuery({ query }: RequestContext): string {
  const passed = new URLSearchParams();
  for (const name of PASSED_ON) {
    const value = query.get(name);
    if (value !== null) passed.set(name, value);
  }
  return passed.size > 0 ? `?${passed.toString()}` : '';
}

async function dialled(
  dial: NodeLogDialer,
  node: KubeObject,
  path: string,
  { signal }: RequestContext,
): Promise<NodeLogAnswer> {
  const nodeName = node.metadata.name ?? '';
  const port = numberAt(node, ['status', 'daemonEndpoints', 'kubeletEndpoint', 'Port'], DEFAULT_NODE_PORT);
  try {
    return await dial({ nodeName, address: nodeAddress(node), port, path, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw internalError(`cannot reach node ${nodeName} for a log: ${errorText(error)}`);
  }
}

function nodeAddress(node: KubeObject): string {
  const addresses = listAt(node, 'status', 'addresses');
  const found = ['InternalIP', 'ExternalIP', 'Hostname']
    .map((type) => addresses.find((address) => at(address, 'type') === type))
    .find((address) => address !== undefined);
  return textAt(found, ['address']) || '127.0.0.1';
}

async function passOn({ status, body }: NodeLogAnswer): Promise<Reply> {
  if (status !== 200) throw refused(status, await beginningOf(body));
  return { kind: 'stream', code: 200, contentType: 'text/plain', start: (stream) => pipe(body, stream) };
}

async function pipe(body: Readable, stream: AnswerStream): Promise<void> {
  try {
    for await (const chunk of body as AsyncIterable<Buffer | string>) {
      if (!stream.write(chunk)) break;
      await stream.drained();
    }
  } catch {
    // the node or the client went away: what was sent is all there is
  } finally {
    body.destroy();
    stream.end();
  }
}

/** Beginning of the body with which a node refuses: one that never ends would fill the memory. */
async function beginningOf(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer | string>) {
    chunks.push(Buffer.from(chunk));
    bytes += Buffer.byteLength(chunk);
    if (bytes >= MAX_REFUSAL_BYTES) break; // which ends the body
  }
  return Buffer.concat(chunks).subarray(0, MAX_REFUSAL_BYTES).toString('utf8').trim();
}

function refused(status: number, message: string): ApiError {
  if (status === 400) return badRequest(message);
  return status === 404 ? new ApiError(404, 'NotFound', message) : internalError(message);
}

function text(body: string): Reply {
  return { kind: 'bytes', code: 200, contentType: 'text/plain', body };
}
