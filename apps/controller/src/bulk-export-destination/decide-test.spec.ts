import type { DestinationCheck } from '#lib/object-store';
import type { BulkExportDestination } from '#lib/resources';
import { outcomeOf, untilNextTest } from './destination-reconciler.js';
import { storeSettings, testedHash } from './store-settings.js';

const NOW = new Date('2026-01-01T00:01:00Z');
const CONFIG = { bucketName: 'b', includeBucketInPrefix: true };

function tested(status: 'True' | 'False', reason: string, testedAt: string): BulkExportDestination {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'BulkExportDestination',
    metadata: { name: 'd' },
    spec: { type: 'object_store', config: CONFIG },
    status: {
      testedHash: 'h',
      testedAt,
      conditions: [
        { type: 'Validated', status, reason, message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ],
    },
  };
}

describe('untilNextTest', () => {
  const usable = tested('True', 'Usable', '2026-01-01T00:00:00Z');
  it.each([
    ['what was never tested is tested now', { ...usable, status: {} }, 'h', 0],
    ['what changed is tested now', usable, 'other', 0],
    ['what was usable is tested again after a day', usable, 'h', 86_340_000],
    [
      'a refusal is believed for five minutes',
      tested('False', 'Refused', '2026-01-01T00:00:00Z'),
      'h',
      240_000,
    ],
    ['from its last test, not its first', tested('False', 'Refused', '2026-01-01T00:00:59Z'), 'h', 299_000],
    [
      'an unreachable store is tried sooner',
      tested('False', 'Unreachable', '2026-01-01T00:00:40Z'),
      'h',
      10_000,
    ],
    ['what is due is tested now', tested('False', 'Unreachable', '2026-01-01T00:00:00Z'), 'h', 0],
  ])('%s', (_, destination, hash, expected) => {
    expect(untilNextTest(destination, hash, NOW)).toBe(expected);
  });
});

describe('untilNextTest of a destination to which an attempt failed', () => {
  it.each([
    ['tests a usable one at once', 'True', 'Usable', '2026-01-01T00:00:00Z', 0],
    ['tests a refused one at once', 'False', 'Refused', '2026-01-01T00:00:00Z', 0],
    ['tests it five seconds after its last test', 'True', 'Usable', '2026-01-01T00:00:58Z', 3_000],
  ] as const)('%s', (_, status, reason, testedAt, expected) => {
    expect(untilNextTest(tested(status, reason, testedAt), 'h', NOW, true)).toBe(expected);
  });
});

describe('outcomeOf', () => {
  const table: [string, DestinationCheck, string][] = [
    [
      'usable',
      { kind: 'usable', canDelete: true, canRead: true },
      'True/Usable: a test object was written and removed',
    ],
    [
      'usable without deleting',
      { kind: 'usable', canDelete: false, canRead: true },
      'True/Usable: a test object was written; not permitted: delete objects (the test object stays under tmp/)',
    ],
    [
      'refused, in the interface’s words',
      {
        kind: 'refused',
        message: 'Access denied',
        detail: 'AccessDenied',
        advice: 'AccessDenied: no',
        retryable: false,
      },
      'False/Refused: Access denied: AccessDenied: no',
    ],
    [
      'refused, with what to do',
      {
        kind: 'refused',
        message: 'Invalid endpoint',
        detail: 'PrivateEndpoint',
        advice: 'it is private',
        retryable: false,
      },
      'False/Refused: Invalid endpoint: it is private',
    ],
    [
      'unreachable',
      { kind: 'refused', message: 'Invalid endpoint', detail: '', advice: 'it is down', retryable: true },
      'False/Unreachable: Invalid endpoint: it is down',
    ],
  ];
  it.each(table)('%s', (_, check, expected) => {
    const { status, reason, message } = outcomeOf(check).condition;
    expect(`${status}/${reason}: ${message}`).toBe(expected);
  });
});

describe('settings of a store', () => {
  it('reads them from config and Secret', () => {
    const data = { access_key_id: 'QUtJQQ==', secret_access_key: 'c2Vr', session_token: '' };
    expect(storeSettings({ ...CONFIG, region: 'r', endpointUrl: 'http://s' }, data, 'T')).toEqual({
      includeBucketInPrefix: true,
      endpoint: 'http://s',
      region: 'r',
      accessKeyId: 'AKIA',
      secretAccessKey: 'sek',
      written: {},
      allowEnvironmentCredentials: false,
    });
    expect(storeSettings({ ...CONFIG, storageClass: 'COLD', awsRoleArn: 'arn' }, undefined, 'T')).toEqual({
      role: { arn: 'arn', externalId: 't' },
      includeBucketInPrefix: true,
      written: { storageClass: 'COLD' },
      allowEnvironmentCredentials: true,
    });
  });
  it('changes their hash when a test could come out otherwise', () => {
    const secret = { uid: 'u', resourceVersion: '1' };
    const ground = { secret, allowPrivateEndpoints: false, allowEnvironmentCredentials: false };
    const hashes = [
      testedHash(CONFIG, ground),
      testedHash(CONFIG, { ...ground, allowPrivateEndpoints: true }),
      testedHash({ ...CONFIG, prefix: 'p' }, ground),
      testedHash({ ...CONFIG, serverSideEncryption: 'AES256' }, ground),
      testedHash({ ...CONFIG, storageClass: 'COLD' }, ground),
      testedHash({ ...CONFIG, awsRoleArn: 'arn' }, ground),
      testedHash({ ...CONFIG, includeBucketInPrefix: false }, ground),
      testedHash(CONFIG, { ...ground, secret: { ...secret, resourceVersion: '2' } }),
      testedHash(CONFIG, { ...ground, secret: undefined }),
      testedHash(CONFIG, { ...ground, secret: undefined, allowEnvironmentCredentials: true }),
    ];
    // of a destination with a Secret, whether those of the platform could serve changes nothing
    expect(testedHash(CONFIG, { ...ground, allowEnvironmentCredentials: true })).toBe(hashes[0]);
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});
