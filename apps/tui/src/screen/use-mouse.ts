import { useStdin, useStdout } from 'ink';
import { useEffect, useEffectEvent, useLayoutEffect, useMemo } from 'react';
import { mouseNamesOf } from '../session/mouse-names.js';

/** Reports of buttons and of the wheel (1000), as numbers in text (1006). */
const ON = '\u001b[?1000h\u001b[?1006h';
const OFF = '\u001b[?1006l\u001b[?1000l';

/** Gives the mouse back to the terminal while something else has the screen. */
export type WithoutMouse = (run: () => Promise<unknown>) => Promise<void>;

/**
 * Asks the terminal to report the mouse, until the screen ends: by a key, a signal or a crash, after each of which Ink
 * takes the screen down first. To be called behind what reads keys: Ink drops reports before its hooks see them, so they
 * are taken from what its reader reads, and a listener without that reader would read by itself.
 */
export function useMouse(isWanted: boolean, onNames: (names: readonly string[]) => void): WithoutMouse {
  const { stdin } = useStdin();
  const { stdout } = useStdout();
  const take = useEffectEvent((input: string | Buffer) => onNames(mouseNamesOf(String(input))));
  const mouse = useMemo(() => {
    const listener = (input: string | Buffer): void => take(input);
    return {
      listen: () => void stdin.on('data', listener),
      ignore: () => void stdin.off('data', listener),
    };
  }, [stdin]);
  useEffect(() => {
    if (!isWanted) return undefined;
    mouse.listen();
    return mouse.ignore;
  }, [isWanted, mouse]);
  useLayoutEffect(() => {
    if (!isWanted) return undefined;
    stdout.write(ON);
    return () => void stdout.write(OFF);
  }, [isWanted, stdout]);
  return async (run) => {
    if (!isWanted) return void (await run());
    mouse.ignore();
    stdout.write(OFF);
    try {
      await run();
    } finally {
      stdout.write(ON);
      mouse.listen();
    }
  };
}
