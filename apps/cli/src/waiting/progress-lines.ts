/** Time for which only what happens is shown, without the detail behind a semicolon. */
const QUIET_MS = 20_000;

/** Lines for a person who waits: each once, however its seconds count, and details once something takes long. */
export function progressLines(show: (line: string) => void, nowMs: () => number): (message: string) => void {
  const begunMs = nowMs();
  let last = '';
  return (message) => {
    const line = nowMs() - begunMs < QUIET_MS ? (message.split(';')[0] ?? message) : message;
    const same = line.replaceAll(/\bfor \d+ s\b/g, '');
    if (same !== last) show(line);
    last = same;
  };
}
