import type { IncomingMessage, ServerResponse } from 'node:http';
import type { UserInfo } from '../authn/user.js';
import type { Reply } from './request-context.js';
import type { RequestInfo } from './request-info.js';

/** One request, as far as it came. */
export interface AuditedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly isDryRun: boolean;
}

/** Does the work of a request, and records it when the policy wants that. */
export type Audit = (audited: AuditedRequest, work: () => Reply | Promise<Reply>) => Promise<Reply>;
