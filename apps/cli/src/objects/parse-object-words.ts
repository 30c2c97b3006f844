import { CommandError } from '../command-error.js';

/** Parsed form of `KIND [NAME]` or `KIND/NAME`. */
export interface ObjectWords {
  readonly kind: string;
  readonly name: string | undefined;
}

/** @throws CommandError `usage` when the name is given twice */
export function parseObjectWords([first = '', second]: readonly string[]): ObjectWords {
  const [kind = '', name, ...rest] = first.split('/');
  if (kind === '' || name === '' || rest.length > 0 || (name !== undefined && second !== undefined))
    throw new CommandError('usage', `${first} ${second ?? ''} names no object: use KIND NAME or KIND/NAME`);
  return { kind, name: name ?? second };
}
