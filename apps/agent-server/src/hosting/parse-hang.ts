import { parseShort } from '#lib/json';
import { z } from 'zod';

/** Where a host hangs, as its watch saw it. */
const hangShape = z.object({
  stack: z.array(z.string()),
  runId: z.string().optional(),
  graphId: z.string().optional(),
  node: z.string().optional(),
});
type Hang = z.infer<typeof hangShape>;

/** Of a stack of functions. */
const MAX_LINE_CHARS = 256 * 1024;

/** Code of others has the watch's descriptor too: what else comes over it is nothing. */
export function parseHang(line: string): Hang | undefined {
  try {
    return hangShape.safeParse(parseShort(line, MAX_LINE_CHARS)).data;
  } catch {
    return undefined;
  }
}
