/** The answer to a command. @param result JSON text, which may be large */
export function renderSuccess(id: number, result: string, threadId: string): string {
  const meta = JSON.stringify({ thread_id: threadId });
  return `{"type":"success","id":${id},"result":${result},"meta":${meta}}`;
}
