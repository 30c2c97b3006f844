import { describe, expect, it } from '@jest/globals';
import { ConfigError, loadConfig } from '#lib/config';
import { LAKE_FIELDS, type LakeConfig, lakeVariables, openLake, whyNotSealing } from './lake-settings.js';

const ON = { AGENTPLANE_LAKE: 'on', AGENTPLANE_ATTACHMENT_BUCKET: 'b' };
const KEYS = {
  AGENTPLANE_ATTACHMENT_ACCESS_KEY_ID: 'AK',
  AGENTPLANE_ATTACHMENT_SECRET_ACCESS_KEY: 'secret',
};
const load = (environment: Readonly<Record<string, string>>): LakeConfig =>
  loadConfig(LAKE_FIELDS, environment);

describe('settings of the lake', () => {
  it.each<[string, Readonly<Record<string, string>>, boolean, RegExp | undefined]>([
    ['is off by default', { AGENTPLANE_ATTACHMENT_BUCKET: 'b' }, false, /^AGENTPLANE_LAKE is off$/],
    ['needs a bucket', { AGENTPLANE_LAKE: 'on' }, false, /^AGENTPLANE_ATTACHMENT_BUCKET is missing$/],
    ['is read without sealing', { ...ON, AGENTPLANE_LAKE: 'read' }, true, /no more follow/],
    ['seals', ON, true, undefined],
  ])('%s', (_name, environment, isOpen, why) => {
    const config = load({ ...environment, ...KEYS });
    expect(openLake(config) !== undefined).toBe(isOpen);
    expect(lakeVariables(config) !== undefined).toBe(isOpen);
    expect(whyNotSealing(config)).toEqual(why && expect.stringMatching(why));
  });

  it('hands everything on to workers, keys apart', () => {
    const given = {
      ...ON,
      AGENTPLANE_LAKE_PREFIX: '/days/',
      AGENTPLANE_LAKE_QUIET_HOURS: '0',
      AGENTPLANE_LAKE_ERASE_HOURS: '3',
      AGENTPLANE_ATTACHMENT_ENDPOINT: 'http://127.0.0.1:9',
      AGENTPLANE_ATTACHMENT_REGION: 'r',
      ...KEYS,
    };
    const variables = lakeVariables(load(given));
    expect(variables?.keys).toEqual(KEYS);
    expect(load({ ...variables?.open, ...variables?.keys })).toEqual(load(given));
    expect(openLake(load(given))).toMatchObject({
      bucket: 'b',
      prefix: 'days',
      quietHours: 0,
      eraseHours: 3,
    });
  });

  it('rejects a prefix that is no folder', () => {
    expect(() => load({ AGENTPLANE_LAKE_PREFIX: '//' })).toThrow(ConfigError);
  });
});
