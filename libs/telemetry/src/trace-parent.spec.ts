import { describe, expect, it } from '@jest/globals';
import { parseTraceParent, renderTraceParent } from './trace-parent.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

describe('traceparent', () => {
  it.each(['00', '01'])('survives reading and writing with flags %s', (flags) => {
    const header = `00-${TRACE}-${SPAN}-${flags}`;
    const place = parseTraceParent(header);
    expect(place).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: flags === '01' });
    expect(place && renderTraceParent(place)).toBe(header);
  });

  it.each([
    undefined,
    '',
    `01-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
  ])('ignores the traceparent %j', (header) => expect(parseTraceParent(header)).toBeUndefined());
});
