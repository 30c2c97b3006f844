import type { TestAnswer } from './running-api.js';

/** The field problems of a refusal, each as its place and its type. */
export function problemsIn({ json }: TestAnswer): string[] {
  return json.detail.map((one: { loc: unknown[]; type: string }) => `${one.loc.join('.')} ${one.type}`);
}
