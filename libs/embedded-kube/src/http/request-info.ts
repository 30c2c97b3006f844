import type { ServerResponse } from 'node:http';
import { exactField } from '#lib/kube-semantics';
import { metrics, statusClass } from '#lib/telemetry';
import { systemClock } from '#lib/time';

/**
 * Returns true when the server serves the resource of a request; names made up by clients must not become
 * labels.
 */
export type KnowsResource = (info: RequestInfo) => boolean;

/** Counts and times a request once its answer has ended. */
export function observeRequest(info: RequestInfo, response: ServerResponse, knows: KnowsResource): void {
  const startedMs = systemClock.monotonicMs();
  const { verb, isResource, group, resource } = info;
  const named = group === '' ? resource : `${resource}.${group}`;
  const shown = !isResource ? '' : knows(info) ? named : 'unknown';
  response.once('close', () => {
    metrics.kubeRequests.add(1, { verb, resource: shown, status_class: statusClass(response.statusCode) });
    if (verb !== 'watch')
      metrics.kubeRequestDuration.observe((systemClock.monotonicMs() - startedMs) / 1000, { verb });
  });
}

/** The request as the authoriser and the router see it. */
export interface RequestInfo {
  readonly path: string;
  readonly method: string;
  /** Verb of Kubernetes for resources (`list`, `watch`, …), else the method in lower case. */
  readonly verb: string;
  readonly isResource: boolean;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
}

const WRITE_VERBS: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch' };

/** Reads method and path the way Kubernetes does: `/api/v1/…` and `/apis/GROUP/VERSION/…` are resources. */
export function parseRequestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodePart);
  const prefix = parts[0];
  const rest = prefix === 'api' ? parts.slice(2) : parts.slice(3);
  const isResource = (prefix === 'api' || prefix === 'apis') && rest.length > 0;
  const none = {
    path,
    method,
    isResource: false,
    group: '',
    version: '',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
  };
  if (!isResource) return { ...none, verb: method.toLowerCase() };
  const group = prefix === 'api' ? '' : (parts[1] ?? '');
  const version = (prefix === 'api' ? parts[1] : parts[2]) ?? '';
  const target = parseTarget(rest);
  const verb = verbOf(method, target.name, query);
  const name =
    target.name ||
    (SELECTABLE.has(verb) ? exactField(query.get('fieldSelector') ?? '', 'metadata.name') : '');
  return { ...none, ...target, name, group, version, isResource: true, verb };
}

/** Verbs of many objects: narrowed to one by a field selector, they ask no more than who may read that one. */
const SELECTABLE = new Set(['list', 'watch', 'deletecollection']);

interface Target {
  readonly namespace: string;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
}

function parseTarget(rest: readonly string[]): Target {
  const isNamespaced =
    rest[0] === 'namespaces' && rest.length > 2 && !NAMESPACE_SUBRESOURCES.has(rest[2] ?? '');
  if (isNamespaced) return targetOf(rest.slice(2), rest[1] ?? '');
  // a Namespace is authorised within itself
  return targetOf(rest, rest[0] === 'namespaces' ? (rest[1] ?? '') : '');
}

const NAMESPACE_SUBRESOURCES = new Set(['status', 'finalize']);

function targetOf(rest: readonly string[], namespace: string): Target {
  const [resource = '', name = '', ...subresource] = rest;
  return { namespace, resource, name, subresource: subresource.join('/') };
}

function verbOf(method: string, name: string, query: URLSearchParams): string {
  const write = WRITE_VERBS[method];
  if (write) return write;
  if (method === 'DELETE') return name ? 'delete' : 'deletecollection';
  if (method !== 'GET' && method !== 'HEAD') return method.toLowerCase();
  const watch = query.get('watch');
  if (watch !== null && watch !== 'false' && watch !== '0') return 'watch';
  return name ? 'get' : 'list';
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
