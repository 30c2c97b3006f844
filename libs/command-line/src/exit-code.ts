import { EXIT } from '#lib/lifecycle';

/** Ways in which a command ends. */
export type ExitName = keyof typeof EXIT;

/** What each exit code means, for the help and the reference. */
export const EXIT_MEANING: Readonly<Record<ExitName, string>> = {
  ok: 'done',
  failed: 'failed; the message on standard error says why',
  usage: 'wrong usage: an unknown command or option, or a value that cannot be used',
  notFound: 'the named object, key, image or context does not exist',
  unreachable: 'no platform runs, or the server does not answer',
  timedOut: 'the time to wait has passed',
  refused: 'the key or account may not do this',
  interrupted: 'interrupted by Ctrl-C',
};

/** `0 done, 1 failed …`, by number. */
export function exitLines(): readonly string[] {
  return Object.entries(EXIT_MEANING)
    .map(([name, meaning]): readonly [number, string] => [codeOf(name), meaning])
    .sort(([a], [b]) => a - b)
    .map(([code, meaning]) => `  ${String(code).padStart(3)}  ${meaning}`);
}

function codeOf(name: string): number {
  return Object.entries(EXIT).find(([one]) => one === name)?.[1] ?? EXIT.failed;
}
