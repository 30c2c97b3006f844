import { Controller, HttpCode, Module, Post } from '@nestjs/common';
import { type Caller, KEY_SCOPES, type KeyScope, parseAgentToken } from '#lib/auth';
import { WrongKeys } from '#lib/http';
import { Informers } from '#lib/kube';
import { RESOURCES } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { ApiKeys, TraceStore } from '#lib/trace-store';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, CLOCK, TRACE_STORE } from '../core/tokens.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { Answered, Perhaps, TEXT, UUID, WHOLE, words } from '../wire/shape.js';
import { FromCaller } from './caller.js';
import { type KeyRing, OperatorKey } from './key-guard.js';
import { TENANT_INDEX, Workspaces } from './workspaces.js';

/**
 * Keys of existing workspaces, and tokens for agents that are made of them. A workspace is deleted in Kubernetes, its keys are stored in Postgres: checked
 * together for each request, a key ends with its workspace, also when the platform was down while that was
 * deleted.
 */
class LivingKeys implements Pick<ApiKeys, 'verify' | 'verifyProof'> {
  constructor(
    private readonly apiKeys: Pick<ApiKeys, 'verify' | 'verifyProof'>,
    private readonly workspaces: Pick<Workspaces, 'has'>,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  async verify(key: string): Promise<Caller | undefined> {
    const token = parseAgentToken(key);
    if (!token) return this.#living(await this.apiKeys.verify(key));
    const leftMs = token.untilMs - this.clock.now().getTime();
    const caller = leftMs > 0 ? await this.verifyProof(token.id, token.proves) : undefined;
    return (
      caller && { ...caller, agent: token.agent, expiresInMs: Math.min(leftMs, caller.expiresInMs ?? leftMs) }
    );
  }

  async verifyProof(id: string, proves: (hash: Buffer) => boolean): Promise<Caller | undefined> {
    return this.#living(await this.apiKeys.verifyProof(id, proves));
  }

  #living(caller: Caller | undefined): Caller | undefined {
    return caller && this.workspaces.has(caller.tenantId) ? caller : undefined;
  }
}

/** Owner of a key, and its permissions. */
class CallerAnswer {
  @Answered(UUID) readonly tenant_id: string;
  @Answered(TEXT, 'Public part of the key') readonly key_id: string;
  @Answered(words(KEY_SCOPES), 'What the key opens') readonly scope: KeyScope;
  @Perhaps(TEXT, 'Name of the AgentDeployment whose own key it is') readonly deployment?: string;
  @Perhaps(TEXT, 'Tracing project of that deployment, which bears its name on the wire')
  readonly project?: string;
  @Perhaps(TEXT, 'The one deployment that it opens, by its name; on tokens that pages call agents with')
  readonly agent?: string;
  @Perhaps(WHOLE, 'Milliseconds until the key expires; absent on keys without an end')
  readonly expires_in_ms?: number;
}

/** Lets deployed agents ask whom a key belongs to. */
@Described(({ ApiTags }) => ApiTags('Auth'))
@Controller('auth')
class AuthController {
  @Post('verify')
  @HttpCode(200)
  @Operation({
    summary: 'Tenant that the key of this request belongs to, and what the key opens',
    answer: CallerAnswer,
  })
  verify(@FromCaller() caller: Caller): CallerAnswer {
    return {
      tenant_id: caller.tenantId,
      key_id: caller.keyId,
      scope: caller.scope,
      ...(caller.scope === 'deployment' ? { deployment: caller.deployment, project: caller.project } : {}),
      ...(caller.agent === undefined ? {} : { agent: caller.agent }),
      ...(caller.expiresInMs === undefined ? {} : { expires_in_ms: Math.floor(caller.expiresInMs) }),
    };
  }
}

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
        keys: new LivingKeys(apiKeys, workspaces, clock),
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
