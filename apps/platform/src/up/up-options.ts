import { isIP } from 'node:net';
import { resolve } from 'node:path';
import type { FlagsOf, UP } from '#lib/command-line';
import { type CertificateFiles, readServerCertificate } from '#lib/data-folder';

/** Flags of the command line. */
export type UpFlags = FlagsOf<typeof UP.options>;

/** `agentplane up` as asked for. */
export interface UpOptions {
  readonly dataFolder: string;
  readonly host: string;
  /** 0: any free port, then kept. */
  readonly port: number;
  /** Absent: this machine alone is listened on. */
  readonly tls: CertificateSource | undefined;
  /** A cluster of one's own: its API server is used instead of the embedded one, and this machine joins it as a node. */
  readonly kubeconfigPath: string | undefined;
}

/** Origin of the certificate that the REST interface shows. */
export type CertificateSource =
  { readonly kind: 'files'; readonly files: CertificateFiles } | { readonly kind: 'self-signed' };

/** Parses `--listen HOST:PORT`. Without TLS only this machine may be listened on: keys would pass in clear. */
function parseListen(text: string, isTls: boolean): { readonly host: string; readonly port: number } {
  const found = /^(.+):(\d{1,5})$/.exec(text);
  const host = found?.[1] ?? '';
  const port = Number(found?.[2] ?? -1);
  if (!found || port > 65_535) throw new Error(`--listen must look like 127.0.0.1:8470, but is ${text}`);
  const address = host === 'localhost' ? '127.0.0.1' : host.replace(/[[\]]/g, '');
  if (isTls && isIP(address) === 0)
    throw new Error(
      `--listen must name an address of this machine (0.0.0.0 and [::] are all of them), but is ${host}`,
    );
  if (!isTls && !['127.0.0.1', '::1'].includes(address))
    throw new Error(
      `--listen ${host} reaches beyond this machine, where API keys must not pass in clear: add --tls-certificate FILE --tls-key FILE, or --tls-self-signed for a certificate of the platform's own; or listen on 127.0.0.1 behind a proxy with TLS`,
    );
  return { host: address, port };
}

function parseCertificate({
  tlsCertificate: certificate,
  tlsKey: key,
  tlsSelfSigned: isSelfSigned,
}: UpFlags): CertificateSource | undefined {
  if (isSelfSigned && (certificate !== undefined || key !== undefined))
    throw new Error('--tls-self-signed and --tls-certificate name two certificates: give one of them');
  if (isSelfSigned) return { kind: 'self-signed' };
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined || key === undefined)
    throw new Error('--tls-certificate and --tls-key belong together: give both');
  const files = { certificate: resolve(certificate), key: resolve(key) };
  readServerCertificate(files); // an invalid certificate or key is reported before anything starts
  return { kind: 'files', files };
}

export function parseUpOptions(flags: UpFlags): UpOptions {
  const tls = parseCertificate(flags);
  return {
    dataFolder: resolve(flags.data),
    ...parseListen(flags.listen, tls !== undefined),
    tls,
    kubeconfigPath: flags.kubeconfig === undefined ? undefined : resolve(flags.kubeconfig),
  };
}
