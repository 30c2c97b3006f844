import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import {
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  type KubeObject,
  REASON,
  type ResourceRef,
  RESOURCES,
} from '#lib/resources';
import { waitFor } from '#lib/testing';
import { deploymentBody } from '../testdata/deployment-body.js';
import { makeRevision } from '../testdata/make-revision.js';
import { testApi } from '../testdata/test-api.js';

interface Reason {
  readonly status?: string;
  readonly same?: string;
}

/** Every reason that the reference documents of a condition: all situations in which a resource can be. */
function reasonsOf(page: string): readonly (readonly [string, string])[] {
  const { conditions } = parse(readFileSync(join('scripts', 'reference', `${page}.yaml`), 'utf8')) as {
    conditions: readonly { readonly reasons: Readonly<Record<string, Reason>> }[];
  };
  const statuses = new Map<string, string>();
  for (const { reasons } of conditions)
    for (const [reason, { status }] of Object.entries(reasons))
      statuses.set(reason, /True|False|Unknown/.exec(status ?? '')?.[0] ?? statuses.get(reason) ?? 'False');
  return [...statuses];
}

/** True when it is about the revision that was asked for, and not about the one before. */
function concernsRequest(reason: string, status: string): boolean {
  return status === 'False' || reason === REASON.dependencyUnavailable || reason === REASON.progressing;
}

interface Shown {
  readonly ref: ResourceRef;
  readonly name: string;
  /** Path of its answer by REST. */
  readonly path: string;
}

describe('the state of a resource', () => {
  const { api, tenant } = testApi();
  const window = { startTime: '2026-08-01T00:00:00Z', endTime: '2026-08-02T00:00:00Z' };
  const made = <T extends KubeObject>(ref: ResourceRef<T>, name: string, spec: object): Promise<T> =>
    api.client.create(ref, {
      metadata: { name, namespace: tenant.namespace },
      spec,
    } as unknown as Parameters<typeof api.client.create<T>>[1]);
  const anExport = (name: string, more: object): Promise<BulkExport> =>
    made(RESOURCES.BulkExport, name, {
      destinationRef: { name: 'store' },
      tracingProject: { name: 'project' },
      ...more,
    });
  const exportPath = ({ metadata }: KubeObject): string => `/api/v1/bulk-exports/${metadata.uid ?? ''}`;
  const exportOf = (one: KubeObject): Shown => ({
    ref: RESOURCES.BulkExport,
    name: one.metadata.name,
    path: exportPath(one),
  });

  const KINDS: Readonly<Record<string, readonly [string, () => Promise<Shown>]>> = {
    deployment: [
      'agent-deployment',
      async () => {
        const { id, name } = (await tenant.call('POST', '/v2/deployments', deploymentBody())).json;
        return { ref: RESOURCES.AgentDeployment, name, path: `/v2/deployments/${id}` };
      },
    ],
    'revision that is asked for': [
      'agent-deployment',
      async () => {
        const {
          id,
          name,
          latest_revision_id: revision,
        } = (await tenant.call('POST', '/v2/deployments', deploymentBody())).json;
        const path = `/v2/deployments/${id}/revisions/${revision}`;
        return { ref: RESOURCES.AgentDeployment, name, path };
      },
    ],
    revision: [
      'agent-revision',
      async () => {
        const { json } = await tenant.call('POST', '/v2/deployments', deploymentBody());
        const { id, name, latest_revision_id: revisionId } = json;
        const { metadata } = await makeRevision(api.client, tenant, { name, id: revisionId, number: 1 });
        const path = `/v2/deployments/${id}/revisions/${revisionId}`;
        return { ref: RESOURCES.AgentRevision, name: metadata.name, path };
      },
    ],
    destination: [
      'bulk-export-destination',
      async () => {
        const { metadata } = await made<BulkExportDestination>(RESOURCES.BulkExportDestination, 'store', {
          displayName: 'Store',
          type: 'object_store',
          config: { bucketName: 'bucket', region: 'r' },
          credentialsSecretRef: { name: 'keys' },
        });
        const path = `/api/v1/bulk-exports/destinations/${metadata.uid ?? ''}`;
        return { ref: RESOURCES.BulkExportDestination, name: metadata.name, path };
      },
    ],
    export: ['bulk-export', async () => exportOf(await anExport('once', window))],
    schedule: [
      'bulk-export',
      async () => exportOf(await anExport('nightly', { startTime: window.startTime, intervalHours: 24 })),
    ],
    'run of an export': [
      'bulk-export-run',
      async () => {
        const owner = await anExport('parted', window);
        const run = await made<BulkExportRun>(RESOURCES.BulkExportRun, 'parted-20260801', {
          exportName: 'parted',
          exportId: owner.metadata.uid,
          tenantId: tenant.tenantId,
          ...window,
          projectId: tenant.tenantId,
          destination: { config: { bucketName: 'bucket', includeBucketInPrefix: true } },
          format: owner.spec.format,
          formatVersion: owner.spec.formatVersion,
          compression: owner.spec.compression,
        });
        const path = `${exportPath(owner)}/runs/${run.metadata.uid ?? ''}`;
        return { ref: RESOURCES.BulkExportRun, name: run.metadata.name, path };
      },
    ],
  };

  /** The columns Reason and Message of the table that kubectl prints. */
  const printed = async ({ ref, name }: Shown): Promise<readonly unknown[]> => {
    const path = `/apis/${ref.group}/${ref.version}/namespaces/${tenant.namespace}/${ref.plural}/${name}`;
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const table = (await api.client.raw('GET', path, { accept })) as {
      readonly columnDefinitions: readonly { readonly name: string }[];
      readonly rows: readonly { readonly cells: readonly unknown[] }[];
    };
    const cell = (column: string): unknown =>
      table.rows[0]?.cells[table.columnDefinitions.findIndex((one) => one.name === column)];
    return [cell('Reason'), cell('Message')];
  };

  it.each(Object.entries(KINDS))(
    'has one reason and message for REST and kubectl: %s',
    async (kind, [page, make]) => {
      const shown = await make();
      const key = { namespace: tenant.namespace, name: shown.name };
      const answered = async (): Promise<readonly unknown[]> => {
        const { status, json } = await tenant.call('GET', shown.path);
        expect(status).toBe(200);
        return [json.status_reason, json.status_message];
      };
      // before the first report of its controller
      expect((await answered())[0]).toBe(kind === 'revision that is asked for' ? 'Pending' : null);
      for (const [reason, status] of reasonsOf(page)) {
        if (kind === 'revision that is asked for' && !concernsRequest(reason, status)) continue;
        const message = `${reason} in words`;
        const condition = {
          type: 'Ready',
          status,
          reason,
          message,
          lastTransitionTime: '2026-11-23T10:00:00Z',
        };
        await api.client.mergeStatus(shown.ref as never, key, {
          status: { conditions: [condition] },
        });
        expect(await printed(shown)).toEqual([reason, message]);
        await waitFor(async () => (await answered())[1] === message, { what: `${kind} ${reason}` });
        expect(await answered()).toEqual([reason, message]);
      }
    },
  );
});
