import { afterAll, beforeAll } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { TlsListener, type TlsListenerOptions } from '../http/tls-listener.js';
import { CertificateAuthority } from '../pki/certificate-authority.js';

/** A listener in front of a handler of the test, for the file. @returns its port, once the tests run */
export function testListener(
  options: Pick<TlsListenerOptions, 'authenticate' | 'handler'> & Partial<TlsListenerOptions>,
): () => number {
  const folder = temporaryFolder();
  let listener: TlsListener;
  let port: number;

  beforeAll(async () => {
    const authority = await CertificateAuthority.open(folder, systemClock.now());
    const serving = await authority.issue({ kind: 'server', commonName: 'kube', names: ['127.0.0.1'] });
    listener = new TlsListener({
      audit: async (_audited, work) => work(),
      key: serving.privateKey,
      certificate: serving.certificate,
      clientCa: authority.certificate,
      knowsResource: () => true,
      findListeners: () => undefined,
      log: createLogger('test', 'silent'),
      clock: systemClock,
      ...options,
    });
    port = await listener.listen('127.0.0.1', 0);
  });
  afterAll(() => listener.close());
  return () => port;
}
