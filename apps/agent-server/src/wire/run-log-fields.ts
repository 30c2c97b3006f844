/** What every log line of a run carries, by the names of the wire. */
export function runLogFields({ runId, threadId }: { readonly runId: string; readonly threadId: string }): {
  readonly run_id: string;
  readonly thread_id: string;
} {
  return { run_id: runId, thread_id: threadId };
}
