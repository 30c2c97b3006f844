import { registryTrouble } from './registry.js';

const IMAGE = 'registry.example.com/team/ws-a/timeout-denied:tag';

/** Output of skopeo. */
const fatal = (text: string): string =>
  `Getting image source signatures\ntime="2026-11-27T10:55:11Z" level=fatal msg=${JSON.stringify(text)}\n`;

describe('registryTrouble', () => {
  it.each([
    [
      'RegistryUnavailable',
      'pinging container registry r: Get "https://r/v2/": dial tcp 1.2.3.4:443: connect: connection refused',
    ],
    ['RegistryUnavailable', 'Get "https://r/v2/": dial tcp: lookup r on 10.0.0.1:53: no such host'],
    [
      'RegistryUnavailable',
      'writing blob: initiating layer upload: received unexpected HTTP status: 503 Service Unavailable',
    ],
    ['RegistryUnavailable', 'pinging: invalid status code from registry 502 (Bad Gateway)'],
    ['RegistryUnavailable', 'reading manifest: toomanyrequests: You have reached your pull rate limit'],
    ['RegistryUnavailable', 'writing blob: Patch "https://r/x": EOF'],
    ['BuildFailed', 'checking whether a blob exists: unauthorized: authentication required'],
    ['BuildFailed', 'requested access to the resource is denied'],
    ['BuildFailed', 'Requesting bear token: invalid status code from registry 403 (Forbidden)'],
    ['BuildFailed', 'reading manifest 1 in r/x: manifest unknown: manifest unknown'],
    ['BuildFailed', 'Get "https://r/v2/": x509: certificate signed by unknown authority'],
  ])('gives %s as the reason of %s', (reason, text) => {
    const trouble = registryTrouble('pushing', IMAGE, fatal(text));
    expect(trouble.reason).toBe(reason);
    expect(trouble.message).toContain(text);
  });

  it('takes no word of the name of the image for an answer', () => {
    const away = fatal(`trying ${IMAGE.replace(':tag', '')}: manifest invalid`);
    expect(registryTrouble('pushing', IMAGE, away)).toMatchObject({ reason: 'BuildFailed' });
    expect(registryTrouble('pushing', IMAGE, away).message).not.toMatch(/refused|unavailable/);
  });

  it('names the Secret to correct for credentials that are refused', () => {
    expect(registryTrouble('pushing', IMAGE, fatal('unauthorized')).message).toMatch(/builds\.pushSecret/);
  });
});
