import type { INestApplicationContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { EventRecorder } from '#lib/kube';
import { isJsonObject } from '#lib/json';
import { EVENT, FIELD_MANAGER, type KubeObject, RESOURCES } from '#lib/resources';
import type { ApiParts } from '../core/api-parts.js';
import { HOMES } from '../core/tokens.js';
import { findCaller } from '../tenancy/caller.js';
import { Workspaces } from '../tenancy/workspaces.js';
import type { ReportIgnored } from '../wire/speak-vocabulary.js';
import type { Homes } from '../kubernetes/secret-home.js';
import type { ResourceHome } from '../kubernetes/resource-home.js';

/** Objects that bodies of REST make or change, by the first part of their paths. */
const OBJECTS = [
  ['/v2/deployments', 'deployments', RESOURCES.AgentDeployment],
  ['/v2/listeners', 'listeners', RESOURCES.Listener],
  ['/api/v1/bulk-exports/destinations', 'destinations', RESOURCES.BulkExportDestination],
  ['/api/v1/bulk-exports', 'exports', RESOURCES.BulkExport],
] as const;

/** Reports ignored members of a body by an event of the object that it made or changed. */
export function reportIgnored(
  { client, log, clock }: Pick<ApiParts, 'client' | 'log' | 'clock'>,
  application: Pick<INestApplicationContext, 'get'>,
): ReportIgnored {
  const events = new EventRecorder({ client, component: FIELD_MANAGER.api, log, clock });
  const homes = application.get<Homes>(HOMES, { strict: false });
  const workspaces = application.get(Workspaces, { strict: false });
  return (request, answer, message) => {
    const [, kind, ref] = OBJECTS.find(([path]) => request.routeOptions.url?.startsWith(path)) ?? [];
    const caller = findCaller(request);
    const id = idOf(request, answer);
    if (!kind || !caller || id === undefined) return;
    const home: Pick<ResourceHome<KubeObject>, 'find'> = homes[kind];
    const object = home.find(workspaces.homeOf(caller.tenantId).namespace, id);
    const text = { type: 'Normal', reason: EVENT.membersIgnored, message } as const;
    if (object) events.record(ref, object, text);
  };
}

/** The first id of the path, else that of what was made. */
function idOf({ params }: FastifyRequest, answer: unknown): string | undefined {
  const [inPath] = isJsonObject(params) ? Object.values(params) : [];
  const id = inPath ?? (isJsonObject(answer) ? answer['id'] : undefined);
  return typeof id === 'string' ? id : undefined;
}
