import fc from 'fast-check';
import { dayOf, formatInstant, parseInstant } from '#lib/time';
import {
  checkPrefix,
  countPartitions,
  decideNextAttempt,
  DEFAULT_EXPORT_LIMITS,
  exportManifestKey,
  manifestKey,
  partitionByDay,
  type FileAddress,
  partKey,
  renderLimit,
  resolveWindow,
  tableFolder,
  testObjectKey,
  windowManifestKey,
} from './index.js';
import { partitionFolder } from './object-key.js';
import { parseLast } from './window.js';

const instant = fc.bigInt(
  parseInstant('1970-01-01T00:00:00Z', { zone: 'required' }) ?? 0n,
  parseInstant('9999-12-30T00:00:00Z', { zone: 'required' }) ?? 0n,
);

describe('partitionByDay', () => {
  it('covers every microsecond of the window exactly once, each part within one UTC day', () =>
    fc.assert(
      fc.property(instant, fc.bigInt(1n, 40n * 86_400_000_000n), (start, length) => {
        const window = { start, end: start + length };
        const parts = partitionByDay(window);
        expect(parts[0]?.start).toBe(window.start);
        expect(parts.at(-1)?.end).toBe(window.end);
        for (const [at, part] of parts.entries()) {
          expect(part.end > part.start).toBe(true);
          expect(dayOf(part.start)).toBe(dayOf(part.end - 1n));
          if (at > 0) expect(part.start).toBe(parts[at - 1]?.end);
        }
        expect(countPartitions(window)).toBe(parts.length);
      }),
    ));

  it('gives midnight to the day that begins', () => {
    const parts = partitionByDay({
      start: parseInstant('2026-08-18T23:59:59.999999Z', { zone: 'required' }) ?? 0n,
      end: parseInstant('2026-08-19T00:00:00.000001Z', { zone: 'required' }) ?? 0n,
    });
    expect(
      parts.map((part) => [part.day, formatInstant(part.start, 'if-any'), formatInstant(part.end, 'if-any')]),
    ).toEqual([
      ['2026-08-18', '2026-08-18T23:59:59.999999Z', '2026-08-19T00:00:00Z'],
      ['2026-08-19', '2026-08-19T00:00:00Z', '2026-08-19T00:00:00.000001Z'],
    ]);
  });

  it('returns no part for an empty window', () => expect(partitionByDay({ start: 5n, end: 5n })).toEqual([]));
});

describe('a window', () => {
  const now = parseInstant('2026-08-19T12:00:00Z', { zone: 'required' }) ?? 0n;

  it.each([
    ['90m', '2026-08-19T10:30:01Z'],
    ['24h', '2026-08-18T12:00:01Z'],
    ['7d', '2026-08-12T12:00:01Z'],
  ])('counts %s backwards from the end of the second of the creation', (last, start) => {
    const decision = resolveWindow({ last }, now);
    if (decision.kind !== 'window') throw new Error(decision.message);
    const { window } = decision;
    expect([formatInstant(window.start, 'if-any'), formatInstant(window.end, 'if-any')]).toEqual([
      start,
      '2026-08-19T12:00:01Z',
    ]);
  });

  it.each([
    [{ last: 'yesterday' }, /last must be/],
    [{ last: '0h' }, /last must be/],
    [{}, /give startTime and endTime/],
    [{ startTime: '2026-08-19T00:00:00Z' }, /give startTime and endTime/],
    [{ startTime: 'x', endTime: '2026-08-19T00:00:00Z' }, /startTime must be/],
    [{ startTime: '2026-08-19T00:00:00Z', endTime: '2026-08-19T00:00:00Z' }, /must be after/],
  ])('refuses %j', (wanted, message) => {
    const decision = resolveWindow(wanted, now);
    expect(decision.kind === 'refused' && decision.message).toMatch(message);
  });

  it('has no other units', () => expect(parseLast('3w')).toBeUndefined());
});

describe('an object key', () => {
  const address: FileAddress = {
    prefix: '/data/exports/',
    exportId: '11111111-1111-4111-8111-111111111111',
    tenantId: '22222222-2222-4222-8222-222222222222',
    projectId: '33333333-3333-4333-8333-333333333333',
    formatVersion: 'v2_beta',
    format: 'parquet',
    compression: 'zstd',
    day: '2026-08-09',
  };
  const ids =
    'export_id=11111111-1111-4111-8111-111111111111/tenant_id=22222222-2222-4222-8222-222222222222/session_id=33333333-3333-4333-8333-333333333333';

  it('follows Hive in v2_beta', () =>
    expect(partKey(address, 7)).toBe(
      `data/exports/${ids}/resource=runs/year=2026/month=8/day=9/part-00007.parquet`,
    ));
  it('follows the interface in v1, also without a prefix', () =>
    expect(partKey({ ...address, prefix: '', formatVersion: 'v1' }, 1)).toBe(
      `${ids}/runs/year=2026/month=8/day=9/part-00001.parquet`,
    ));
  it.each([
    ['none', 'jsonl'],
    ['gzip', 'jsonl.gz'],
    ['zstd', 'jsonl.zst'],
  ] as const)('names the compression %s of lines', (compression, suffix) =>
    expect(partKey({ ...address, format: 'jsonl', compression }, 1)).toBe(
      `data/exports/${ids}/resource=runs/year=2026/month=8/day=9/part-00001.${suffix}`,
    ),
  );
  it('has a folder of its own for feedback', () => {
    const feedback = { ...address, resource: 'feedback' } as const;
    const folder = `data/exports/${ids}/resource=feedback/year=2026/month=8/day=9`;
    expect(partKey(feedback, 2)).toBe(`${folder}/part-00002.parquet`);
    expect(partKey({ ...feedback, prefix: '', formatVersion: 'v1' }, 2)).toBe(
      `${ids}/feedback/year=2026/month=8/day=9/part-00002.parquet`,
    );
  });
  it('names a manifest outside of the folders with files', () => {
    const key = 'manifests/export_id=11111111-1111-4111-8111-111111111111/runs/2026-08-09.json';
    expect(manifestKey(address)).toBe(`data/exports/${key}`);
    expect(manifestKey({ ...address, prefix: '', formatVersion: 'v1' })).toBe(key);
  });
  it('names the manifest of an export, and that of a window of a schedule by its begin', () => {
    const id = '11111111-1111-4111-8111-111111111111';
    expect(exportManifestKey('/data/exports/', id)).toBe(
      `data/exports/manifests/export_id=${id}/export.json`,
    );
    expect(
      [1_762_000_000_000_000n, 1_762_000_000_000_001n].map((start) => windowManifestKey('', id, start)),
    ).toEqual([
      `manifests/schedule=${id}/20251101T122640Z.json`,
      `manifests/schedule=${id}/20251101T122640.000001Z.json`,
    ]);
    expect(() => windowManifestKey('', '../x', 0n)).toThrow('must be a uuid');
  });
  it.each([
    'env=prod/x',
    'team@home',
    'a+b,c',
    'a:b',
    '/a/',
    'a b',
    '~me',
    '100%',
    'R&D/$x',
    'q?#[1]',
    'ä/日/😀',
  ])('takes the prefix %j', (prefix) => expect(checkPrefix(prefix)).toBeUndefined());
  it('has a folder for test objects', () => expect(testObjectKey('a', 'x')).toBe('a/tmp/x.txt'));

  it.each([
    '../x',
    'a/../b',
    './a',
    'a//b',
    'a\\b',
    'a%2e',
    '%2E%2e/b',
    'a\0',
    'a\u0085',
    'a\u202eb',
    'a\u2028b',
    '\ud800',
    'a"b',
    'a`b',
    ' a',
    'a /b',
    '/ a',
    `${'a'.repeat(801)}`,
    '日'.repeat(267),
  ])('refuses the prefix %j', (prefix) => expect(checkPrefix(prefix)).toBeDefined());

  it('fits into a store below the longest prefix that is taken', () => {
    const prefix = 'a'.repeat(800);
    expect(checkPrefix(prefix)).toBeUndefined();
    const whole = { ...address, prefix, day: '2026-12-31', resource: 'feedback' as const };
    const keys = [
      partKey({ ...whole, format: 'jsonl' }, 9_999_999),
      manifestKey(whole),
      windowManifestKey(prefix, address.exportId, 1_763_640_000_123_456n),
      // an Iceberg table names its files after the export
      `${tableFolder(prefix, { scheduleId: address.exportId }, 'feedback')}/metadata/${address.exportId}-${address.exportId}.metadata.json`,
    ];
    expect(Math.max(...keys.map((key) => key.length))).toBeLessThanOrEqual(1_020);
  });

  it('never leaves the literal prefix', () =>
    fc.assert(
      fc.property(fc.string({ maxLength: 40, unit: 'binary' }), (prefix) => {
        if (checkPrefix(prefix) !== undefined) return;
        const key = partitionFolder({ ...address, prefix });
        const start = prefix.replace(/^\/+|\/+$/g, '');
        expect(key.startsWith(start)).toBe(true);
        expect(key.split('/')).not.toContain('..');
      }),
    ));
  it('refuses ids that are no uuids', () =>
    expect(() => partitionFolder({ ...address, exportId: '../x' })).toThrow(/uuid/));
});

describe('decideNextAttempt', () => {
  const failed = { kind: 'failed', message: 'the store said 503', endedAtMs: 1000 } as const;

  it('repeats an attempt after the fixed pause', () =>
    expect(decideNextAttempt(1, failed, 11_000, DEFAULT_EXPORT_LIMITS)).toEqual({
      kind: 'retry',
      attempt: 2,
      afterMs: 20_000,
    }));
  it('repeats an attempt at once when the pause is over', () =>
    expect(decideNextAttempt(20, failed, 1e6, DEFAULT_EXPORT_LIMITS)).toMatchObject({
      attempt: 21,
      afterMs: 0,
    }));
  it('gives up after 20 retries', () =>
    expect(decideNextAttempt(21, failed, 1e6, DEFAULT_EXPORT_LIMITS)).toMatchObject({
      kind: 'fail',
      cause: 'RetriesExhausted',
    }));
  it('gives up at once when the destination refuses', () =>
    expect(
      decideNextAttempt(
        1,
        { kind: 'terminal', reason: 'DestinationRefused', message: 'Access denied' },
        0,
        DEFAULT_EXPORT_LIMITS,
      ),
    ).toEqual({
      kind: 'fail',
      cause: 'DestinationRefused',
      message: 'Access denied',
    }));
});

describe('renderLimit', () => {
  it.each([
    [259_200_000, '72 h'],
    [5_400_000, '90 min'],
    [15_000, '15 s'],
    [1_500, '1500 ms'],
  ])('names %i ms as %s', (ms, text) => expect(renderLimit(ms)).toBe(text));
});
