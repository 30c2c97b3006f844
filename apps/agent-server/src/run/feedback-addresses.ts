import { z } from 'zod';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Outcome } from '../protocol/execution.js';
import type { ClaimedRun } from '../store/row/claimed-run.js';
import type { RunEvent } from '../stream/run-event.js';
import type { Platform } from '../upkeep/trace-eraser.js';

/** Milliseconds that the platform gets; the end of the run waits for it. */
const PATIENCE_MS = 5_000;

const tokens = z.array(z.object({ url: z.string() }));

/**
 * Ends the output of runs with `feedback_keys` by an event `feedback`: for each key an address that takes feedback of the
 * run without an API key. It has none where no platform keeps traces, or where the platform does not make them in time.
 */
export class FeedbackAddresses {
  constructor(
    private readonly platform: Platform | undefined,
    private readonly log: Logger,
  ) {}

  /** Shows them for a run that came to its end. Never rejects. */
  async show(
    { runId, feedbackKeys = [] }: ClaimedRun,
    outcome: Outcome,
    emit: (event: RunEvent) => void,
  ): Promise<void> {
    if (feedbackKeys.length === 0 || outcome.kind !== 'ended' || outcome.end.status !== 'success') return;
    const data = await this.#make(runId, feedbackKeys).catch((error: unknown) => {
      this.log.warn({ run_id: runId, error: errorText(error) }, 'making addresses for feedback failed');
      return {};
    });
    emit({ event: 'feedback', data: JSON.stringify(data) });
  }

  async #make(runId: string, keys: readonly string[]): Promise<Readonly<Record<string, string>>> {
    if (!this.platform) throw new Error('the server belongs to no platform');
    const { url, key } = this.platform;
    const response = await fetch(`${url}/feedback/tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify(keys.map((feedback_key) => ({ run_id: runId, feedback_key }))),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (!response.ok) throw new Error(`the platform answered ${response.status}`);
    const made = tokens.parse(await response.json());
    return Object.fromEntries(keys.map((name, at) => [name, made[at]?.url ?? '']));
  }
}
