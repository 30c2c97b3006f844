import type { ServerResponse } from 'node:http';
import { metrics, statusClass } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import type { RequestInfo } from './request-info.js';

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
