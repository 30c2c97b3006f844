/** Shown on a terminal while the program loads, which takes seconds on a busy machine. */
export const OPENING = 'Opening the dashboard …';

/** Takes it off the screen again. */
export const OPENED = '\r\u001b[K';

/** Drops what is typed before there is a screen, which would act on rows that nobody has seen; Ctrl-C still ends. */
export function dropInput(stdin: NodeJS.ReadStream): void {
  if (!stdin.isTTY) return;
  stdin.setRawMode(true);
  stdin.on('data', (input) => {
    if (input.includes('\u0003')) process.kill(process.pid, 'SIGINT');
  });
}

/** Leaves the input to what comes next. @param isRaw the terminal stays as the screen wants it */
export function takeInput(stdin: NodeJS.ReadStream, isRaw: boolean): void {
  if (!stdin.isTTY) return;
  // not paused as well: Node would not read on for the listener of the screen
  stdin.removeAllListeners('data');
  if (!isRaw) stdin.setRawMode(false);
}
