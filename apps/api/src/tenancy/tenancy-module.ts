import { Module } from '@nestjs/common';
import { Informers } from '#lib/kube';
import { WrongKeys } from '#lib/http';
import { RESOURCES } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, CLOCK, TRACE_STORE } from '../core/tokens.js';
import { AuthController } from './auth-controller.js';
import type { KeyRing } from './key-guard.js';
import { LivingKeys } from './living-keys.js';
import { OperatorKey } from './operator-key.js';
import { TENANT_INDEX, Workspaces } from './workspaces.js';

/** Look-ups that are left for unknown keys of sources that sent too many wrong ones. */
const CHANCES_PER_SECOND = 50;

export const KEY_RING = Symbol('what keys are looked up in');

function openWorkspaces(informers: Informers): Workspaces {
  const informer = informers.of(RESOURCES.Workspace);
  informer.addIndex(TENANT_INDEX, (workspace) => [workspace.spec.tenantId.toLowerCase()]);
  return new Workspaces(informer);
}

/** Callers, and the workspaces of tenants. */
@Module({
  controllers: [AuthController],
  providers: [
    { provide: Workspaces, inject: [Informers], useFactory: openWorkspaces },
    {
      provide: KEY_RING,
      inject: [TRACE_STORE, Workspaces, API_CONFIG, CLOCK],
      useFactory: (
        { apiKeys }: TraceStore,
        workspaces: Workspaces,
        { operatorKey, wrongKeysPerMinute }: Pick<ApiConfig, 'operatorKey' | 'wrongKeysPerMinute'>,
        clock: Clock,
      ): KeyRing => ({
        keys: new LivingKeys(apiKeys, workspaces),
        workspaces,
        operator: operatorKey === undefined ? undefined : new OperatorKey(operatorKey),
        wrongKeys: new WrongKeys({
          perMinute: wrongKeysPerMinute,
          chancesPerSecond: CHANCES_PER_SECOND,
          clock,
        }),
      }),
    },
  ],
  exports: [Workspaces, KEY_RING],
})
export class TenancyModule {}
