import { EXIT } from '#lib/lifecycle';

/** Ways in which a command ends. */
export type ExitName = keyof typeof EXIT;

/** Meaning of each exit code, for the help and the reference. */
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

/** Names sorted by number. */
export function exitNames(): readonly ExitName[] {
  return Object.keys(EXIT)
    .filter((name): name is ExitName => Object.hasOwn(EXIT_MEANING, name))
    .sort((a, b) => EXIT[a] - EXIT[b]);
}

/** One line for each code, by number. */
export function exitLines(): readonly string[] {
  return exitNames().map((name) => `  ${String(EXIT[name]).padStart(3)}  ${EXIT_MEANING[name]}`);
}
