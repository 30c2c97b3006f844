import { answerOf, CALL_TIMEOUT_MS, renderFailure, type WebhookAnswer } from '#lib/outbound';
import type { AuthUser } from '../authorization/auth-user.js';

/** The agent's own HTTP app. */
export interface OwnApp {
  /**
   * Posts to a path of the app, and never to one of the server's own routes.
   * @throws when the app is unavailable, breaks off or takes too long
   */
  post(call: OwnCall, answerMs: number): Promise<number>;
}

export interface OwnCall {
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Caller of the run, on whose behalf it is called. */
  readonly caller: AuthUser | undefined;
}

/** Calls a path of the agent's own HTTP app once. Never rejects. */
export async function postToOwnApp(call: OwnCall, app: OwnApp | undefined): Promise<WebhookAnswer> {
  // a newer revision may have one, and make the call
  if (!app) return { kind: 'refused', why: 'this revision of the agent has no http.app', isFinal: false };
  try {
    return answerOf(await app.post(call, CALL_TIMEOUT_MS), "the agent's HTTP app");
  } catch (error) {
    return { kind: 'refused', why: renderFailure(error), isFinal: false };
  }
}
