import { RE2JS } from 're2js';

const compiled = new Map<string, RE2JS | Error>();
const MOST = 2000;

/** A Go regular expression, compiled once; an Error when it is malformed. Linear time whatever the text. */
export function pattern(source: string): RE2JS | Error {
  const known = compiled.get(source);
  if (known !== undefined) return known;
  if (compiled.size >= MOST) compiled.clear();
  const made = compile(source);
  compiled.set(source, made);
  return made;
}

function compile(source: string): RE2JS | Error {
  try {
    return RE2JS.compile(source);
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error(String(thrown));
  }
}
