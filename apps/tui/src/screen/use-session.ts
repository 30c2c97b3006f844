import { type Key, useInput, usePaste, useStdin, useStdout } from 'ink';
import {
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { type BulkExport, RESOURCES } from '#lib/resources';
import type { Clock } from '#lib/time';
import { ProgressMemory } from '../rows/progress-memory.js';
import { paste, press } from '../session/press.js';
import type { Effect, Facts, Session } from '../session/session.js';
import type { World } from '../world/items.js';

/** A report of SGR mode (1006): button, column, line; `m` is the release. */
const REPORT = /\u001b\[<(\d+);\d+;(\d+)M/g;

/**
 * Mouse events in some input, named as keys are: `wheelup`, `wheeldown`, `click-LINE` with lines counted from
 * 1. Releases and other buttons have no names.
 */
export function mouseNamesOf(input: string): readonly string[] {
  return [...input.matchAll(REPORT)].flatMap(
    ([, button = '', line = '']) => ({ 0: `click-${line}`, 64: 'wheelup', 65: 'wheeldown' })[button] ?? [],
  );
}

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

/**
 * Runs what has the terminal meanwhile. Ink only takes its listener off: Node would read on, and take keys from a shell
 * or an editor. Until the tick after its listener went, a stream counts as paused.
 */
export async function withoutReading(stdin: NodeJS.ReadableStream, run: () => Promise<void>): Promise<void> {
  await new Promise<void>((done) => process.nextTick(done));
  stdin.pause();
  await run();
}

/** Memory of how exports and their runs grow, from the moment a namespace is looked at. */
export function useProgress(world: World, namespace: string | undefined, clock: Clock): ProgressMemory {
  const memory = useMemo(() => new ProgressMemory(), [world, namespace]);
  useEffect(() => {
    const ends = [RESOURCES.BulkExport, RESOURCES.BulkExportRun].map((ref) =>
      world.itemsOf({ kind: 'kube', ref }, namespace).on((change) => {
        const { status } = change.object as BulkExport;
        const { rows = 0, bytes = 0, percent = 0 } = status ?? {};
        memory.record(change, { rows, bytes, percent }, clock.monotonicMs());
      }),
    );
    return () => ends.forEach((end) => end());
  }, [world, namespace, memory, clock]);
  return memory;
}

/** Renders again when the world has changed; the number grows. */
export function useWorld(world: World): number {
  return useSyncExternalStore(
    (changed) => world.subscribe(changed),
    () => world.revision,
  );
}

/** Ink’s names for keys that print nothing, and ours. */
const NAMES: readonly (readonly [keyof Key, string])[] = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageUp', 'pageup'],
  ['pageDown', 'pagedown'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['escape', 'escape'],
  ['tab', 'tab'],
  ['backspace', 'backspace'],
  ['delete', 'delete'],
];

/**
 * The keys of one input, named as in the key table: `up`, `ctrl-d`, ` `, `A`. A key that is held, or a slow terminal,
 * makes several of one input.
 */
export function keyNamesOf(input: string, key: Key): readonly string[] {
  const special = NAMES.find(([name]) => key[name] === true)?.[1];
  if (special === 'tab' && key.shift) return ['shift-tab'];
  if (special !== undefined) return [special];
  if (key.ctrl) return input === '' ? [] : [`ctrl-${input}`];
  if (key.meta) return [];
  // before the terminal is raw it makes a line feed of Enter
  return [...input].map((character) => (character === '\r' || character === '\n' ? 'enter' : character));
}

export interface SessionState {
  readonly session: Session;
  readonly change: (next: (session: Session) => Session) => void;
  /** Takes names of what the mouse did. */
  readonly onMouse: (names: readonly string[]) => void;
}

/** Maximum time between the clicks of a double click. */
const DOUBLE_CLICK_MS = 400;

/** Makes `double-LINE` of the second click on a line. */
function useClicks(clock: Clock): (name: string) => string {
  const former = useRef({ name: '', atMs: 0 });
  return (name) => {
    const atMs = clock.monotonicMs();
    const isSecond = former.current.name === name && atMs - former.current.atMs <= DOUBLE_CLICK_MS;
    // a third click is a first one again
    former.current = { name: isSecond ? '' : name, atMs };
    return isSecond ? name.replace('click-', 'double-') : name;
  };
}

/**
 * The session, changed by every key. @param factsOf facts that the keys need, for the session at that moment
 */
export function useSession(
  first: () => Session,
  factsOf: (session: Session) => Facts,
  onEffect: (effect: Effect, session: Session) => void,
  clock: Clock,
): SessionState {
  const [session, show] = useState(first);
  const current = useRef(session);
  const change = (next: (session: Session) => Session): void => {
    current.current = next(current.current);
    show(current.current);
  };
  const clicked = useClicks(clock);
  const pressAll = (names: readonly string[]): void => {
    for (const name of names) {
      const pressed = press(current.current, name, factsOf(current.current));
      change(() => pressed.session);
      if (pressed.effect) onEffect(pressed.effect, pressed.session);
    }
  };
  useInput((input, key) => pressAll(keyNamesOf(input, key)));
  // without it the terminal sends pasted text as keys, which act
  usePaste((text) => change((was) => paste(was, text, factsOf(was)).session));
  return { session, change, onMouse: (names) => pressAll(names.map(clicked)) };
}
