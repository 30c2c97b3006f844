import type { Environment } from '@marcbachmann/cel-js';
import { type RE2JS } from 're2js';
import { pattern } from '../schema/pattern.js';
import { formatCel } from './format.js';

class StringsNamespace {}

/** CEL's string extensions that the engine lacks, and Kubernetes' `find` and `findAll`. */
export function registerStringFunctions(environment: Environment): void {
  environment.registerFunction('string.reMatches(string): bool', matches);
  environment.registerFunction('reMatches(string, string): bool', matches);
  environment.registerFunction('string.find(string): string', (text: string, source: string) =>
    find(text, source),
  );
  environment.registerFunction('string.findAll(string): list<string>', (text: string, source: string) =>
    findAll(text, source, -1n),
  );
  environment.registerFunction('string.findAll(string, int): list<string>', findAll);
  environment.registerFunction('string.charAt(int): string', charAt);
  environment.registerFunction(
    'string.replace(string, string): string',
    (text: string, from: string, to: string) => text.replaceAll(from, () => to),
  );
  environment.registerFunction('string.replace(string, string, int): string', replaceSome);
  environment.registerFunction('string.reverse(): string', (text: string) => [...text].toReversed().join(''));
  environment.registerFunction('string.format(list): string', formatCel);
  environment.registerType('StringsNamespace', StringsNamespace);
  environment.registerConstant('strings', 'StringsNamespace', new StringsNamespace());
  environment.registerFunction('StringsNamespace.quote(string): string', (_: unknown, text: string) =>
    JSON.stringify(text),
  );
}

function compiled(source: string): RE2JS {
  const found = pattern(source);
  if (found instanceof Error) throw new Error(`error parsing regexp: ${found.message}`);
  return found;
}

function matches(text: string, source: string): boolean {
  return compiled(source).matcher(text).find();
}

function find(text: string, source: string): string {
  const matcher = compiled(source).matcher(text);
  return matcher.find() ? (matcher.group() ?? '') : '';
}

function findAll(text: string, source: string, most: bigint): readonly string[] {
  const matcher = compiled(source).matcher(text);
  const found: string[] = [];
  while ((most < 0n || found.length < most) && matcher.find()) found.push(matcher.group() ?? '');
  return found;
}

function charAt(text: string, at: bigint): string {
  const letters = [...text];
  if (at < 0n || at > letters.length) throw new Error(`index out of range: ${at}`);
  return letters[Number(at)] ?? '';
}

function replaceSome(text: string, from: string, to: string, most: bigint): string {
  if (most < 0n) return text.replaceAll(from, () => to);
  let left = most;
  return text.replaceAll(from, (found) => (left-- > 0n ? to : found));
}
