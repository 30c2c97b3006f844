import { tool } from '@langchain/core/tools';
import { z } from 'zod';

/** `1 + 2 * 3` from left to right with the usual precedence; no brackets. */
export function calculate(expression: string): number {
  const parts = expression.match(/(?<![\d.]\s*)-?\d+(?:\.\d+)?|[-+*/]/g);
  if (!parts) throw new Error(`"${expression}" is not a sum`);
  const terms = [Number(parts[0])];
  for (let at = 1; at + 1 < parts.length; at += 2) {
    const operand = Number(parts[at + 1]);
    const last = terms.length - 1;
    if (parts[at] === '*') terms[last] = (terms[last] ?? 0) * operand;
    else if (parts[at] === '/') terms[last] = (terms[last] ?? 0) / operand;
    else terms.push(parts[at] === '-' ? -operand : operand);
  }
  return terms.reduce((sum, term) => sum + term, 0);
}

export const calculator = tool(({ expression }) => String(calculate(expression)), {
  name: 'calculator',
  description: 'Works out a sum such as "12 + 30".',
  schema: z.object({ expression: z.string() }),
});
