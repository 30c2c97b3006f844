import type { JsonTrouble } from './json-trouble.js';

/** The problem and its remedy, for the caller who sent it. */
export function renderTrouble({ kind, isName, path }: JsonTrouble): string {
  const name = JSON.stringify(String(path.at(-1) ?? ''));
  switch (kind) {
    case 'depth':
      return 'is nested too deeply; flatten the value';
    case 'count':
      return 'holds too many values; send fewer, or several of them as one text';
    case 'members':
      return 'holds too many members; send fewer, or several of them as one text';
    case 'duplicate':
      return `the name ${name} comes twice in one object; send it once`;
    case 'nul':
      return `${isName ? `the name ${name}` : 'the text'} holds a NUL character; remove it`;
    case 'surrogate':
      return `${isName ? `the name ${name}` : 'the text'} holds half of a surrogate pair; send whole characters`;
    case 'prototype':
      return `${name} cannot be the name of a member; rename it`;
    default:
      return kind satisfies never;
  }
}
