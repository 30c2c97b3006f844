import { describe, expect, it } from '@jest/globals';
import type { Caller } from '#lib/auth';
import type { AgentDeployment } from '#lib/resources';
import { systemClock } from '#lib/time';
import { deploymentBody } from '../testdata/deployment-body.js';
import type { CreateDeploymentRequest } from './deployment-request.js';
import { Deployments } from './deployments.js';

const CALLER = { tenantId: 't' } as Caller;
const VALUES = { secrets: [{ name: 'TOKEN', value: 'hidden' }] };

describe('a new deployment with secrets', () => {
  /** Names of the written objects, in their order. */
  const written: string[] = [];
  const deployments = (secretFails: boolean): Deployments =>
    new Deployments(
      {
        deployments: {
          list: () => [],
          dryRun: async () => undefined,
          create: async (draft: AgentDeployment) => {
            written.push(`deployment naming ${draft.spec.secretsRef ? 'a Secret' : 'none'}`);
            return { ...draft, metadata: { ...draft.metadata, uid: 'u' } };
          },
          delete: async () => void written.push('deployment deleted'),
        },
        secrets: {
          create: async (_place: object, _purpose: string, _values: object, owner?: AgentDeployment) => {
            written.push(`Secret owned by ${owner?.metadata.uid ?? 'nobody'}`);
            if (secretFails) throw new Error('exceeded quota');
          },
        },
        routes: { requireFree: () => undefined, assignedUrlOf: () => undefined },
      } as unknown as ConstructorParameters<typeof Deployments>[0],
      { homeOf: () => ({ namespace: 'ws-x' }) } as unknown as ConstructorParameters<typeof Deployments>[1],
      { find: async () => undefined, delete: async () => undefined } as unknown as ConstructorParameters<
        typeof Deployments
      >[2],
      systemClock,
      {
        runsProcesses: false,
        archives: { problems: () => Promise.resolve([]) },
        integrations: { require: async () => undefined },
      },
    );
  beforeEach(() => void written.splice(0));

  it('has a Secret that is never without its owner, whenever the program ends', async () => {
    await deployments(false).create(CALLER, deploymentBody(VALUES) as CreateDeploymentRequest);
    expect(written).toEqual(['deployment naming a Secret', 'Secret owned by u']);
  });

  it('deletes the deployment when its Secret cannot be written', async () => {
    const made = deployments(true).create(CALLER, deploymentBody(VALUES) as CreateDeploymentRequest);
    await expect(made).rejects.toThrow('exceeded quota');
    expect(written).toEqual(['deployment naming a Secret', 'Secret owned by u', 'deployment deleted']);
  });
});
