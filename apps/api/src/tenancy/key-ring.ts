import type { Token } from '#lib/nest';
import { type Caller, KEY_SCOPES, type KeyScope, parseAgentToken } from '#lib/auth';
import { WrongKeys } from '#lib/http';
import type { Clock } from '#lib/time';
import type { ApiKeys, TraceStore } from '#lib/trace-store';
import type { ApiConfig } from '../config.js';
import { Resource } from '../wire/operation.js';
import { Post } from '../wire/route.js';
import { Answered, Perhaps, TEXT, UUID, WHOLE, words } from '../wire/shape.js';
import { FromCaller } from './caller.js';
import { type KeyRing, OperatorKey } from './key-guard.js';
import type { Workspaces } from './workspaces.js';

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
@Resource('Auth', 'auth')
export class AuthController {
  @Post('verify', KEY_SCOPES, {
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

export const KEY_RING: Token<KeyRing> = Symbol('what keys are looked up in');

/** Makes the ring of keys that requests are checked against. */
export function openKeyRing(
  { apiKeys }: Pick<TraceStore, 'apiKeys'>,
  workspaces: Workspaces,
  { operatorKey, wrongKeysPerMinute }: Pick<ApiConfig, 'operatorKey' | 'wrongKeysPerMinute'>,
  clock: Clock,
): KeyRing {
  return {
    keys: new LivingKeys(apiKeys, workspaces, clock),
    workspaces,
    operator: operatorKey === undefined ? undefined : new OperatorKey(operatorKey),
    wrongKeys: new WrongKeys({
      perMinute: wrongKeysPerMinute,
      chancesPerSecond: CHANCES_PER_SECOND,
      clock,
    }),
  };
}
