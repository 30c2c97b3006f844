import { describe, expect, it } from '@jest/globals';
import { tokenNote, tracingOf } from './listener-command.js';

describe('tracingOf', () => {
  it('takes variables of OpenTelemetry', () => {
    expect(
      tracingOf(['OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318', 'OTEL_RESOURCE_ATTRIBUTES=a=b,c=d']),
    ).toEqual({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_RESOURCE_ATTRIBUTES: 'a=b,c=d' });
  });

  it.each([
    'OTEL_EXPORTER_OTLP_HEADERS=authorization=secret',
    'NODE_OPTIONS=--import=x',
    'OTEL_SDK_DISABLED',
    '',
  ])('refuses %s', (given) => {
    expect(() => tracingOf([given])).toThrow('--tracing takes NAME=VALUE');
  });
});

describe('tokenNote', () => {
  it('shows what a terminal would obey in the time that the server answered', () =>
    expect(tokenNote('a', '\u009b2J2026')).toMatch(
      /^the token is good until \\u009b2J2026; .* ServiceAccount a /,
    ));
});
