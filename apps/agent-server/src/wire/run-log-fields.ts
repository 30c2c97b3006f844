/** Fields of every log line of a run, by the names of the wire. */
export function runLogFields({ runId, threadId }: { readonly runId: string; readonly threadId: string }): {
  readonly run_id: string;
  readonly thread_id: string;
} {
  return { run_id: runId, thread_id: threadId };
}
