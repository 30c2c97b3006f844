import { formatInstant, type Instant } from '#lib/time';
import { type StoredRun } from '#lib/trace-store';

function time(micros: Instant | undefined): string | null {
  return micros === undefined ? null : formatInstant(micros);
}

/** Payloads that are JSON text; `error` is plain text. */
const JSON_FIELDS = ['inputs', 'outputs', 'extra', 'events', 'serialized'] as const;

/** A run on the wire. Payloads are put in as the bytes that are stored, whose JSON was checked when it came. */
export function renderRun(
  { row, payloads }: StoredRun,
  { withSerialized }: { readonly withSerialized: boolean },
): Buffer {
  const light = JSON.stringify({
    id: row.id,
    name: row.name,
    run_type: row.runType,
    status: row.status,
    trace_id: row.traceId,
    session_id: row.projectId,
    dotted_order: row.dottedOrder,
    parent_run_id: row.parentRunId ?? null,
    parent_run_ids: row.parentRunIds,
    child_run_ids: null,
    direct_child_run_ids: null,
    start_time: time(row.startTime),
    end_time: time(row.endTime),
    first_token_time: time(row.firstTokenTime),
    error: payloads.error?.toString() ?? null,
    tags: row.tags,
    total_tokens: row.totalTokens ?? 0,
    prompt_tokens: row.promptTokens ?? 0,
    completion_tokens: row.completionTokens ?? 0,
    total_cost: row.totalCost ?? null,
    prompt_cost: row.promptCost ?? null,
    completion_cost: row.completionCost ?? null,
    feedback_stats: null,
    reference_example_id: row.referenceExampleId ?? null,
    trace_tier: row.traceTier === '' ? null : row.traceTier,
    thread_id: row.threadId ?? null,
    execution_order: 1,
    in_dataset: false,
    share_token: null,
    manifest_id: null,
    app_path: `/projects/${row.projectId}/runs/${row.id}`,
  });
  const parts: Buffer[] = [Buffer.from(light.slice(0, -1))];
  for (const field of JSON_FIELDS)
    parts.push(
      Buffer.from(`,"${field}":`),
      (field === 'serialized' && !withSerialized ? undefined : payloads[field]) ?? Buffer.from('null'),
    );
  parts.push(Buffer.from('}'));
  return Buffer.concat(parts);
}
