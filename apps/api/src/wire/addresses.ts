import type { IncomingMessage } from 'node:http';

const vendors = new WeakSet<object>();

/** An address of a self-hosted LangSmith, and ours. */
interface Rewritten {
  readonly from: RegExp;
  readonly to: string;
  /** True where only the vendor's clients call, which are answered in the vendor's words. */
  readonly isVendors?: boolean;
}

const ADDRESSES: readonly Rewritten[] = [
  { from: /^\/api-host(?=[/?]|$)/, to: '', isVendors: true },
  // monitors ask for the root
  { from: /^\/(?=\?|$)/, to: '/ok' },
  // the trace service without its version
  { from: /^\/api(?=\/)(?!\/(v1|v2)([/?]|$))/, to: '/api/v1' },
];

/** Browsers that ask for the root are led to the pages. */
const ROOT = /^\/(?=\?|$)/;
const IS_BROWSER = /(^|,)\s*text\/html\s*(,|;|$)/i;

/** The same below the control plane, whatever it was reached by. */
const INTEGRATIONS: Rewritten = {
  from: /^\/v1\/integrations\/(forge\/)?github(?=[/?]|$)/,
  to: '/v1/integrations/git_host',
  isVendors: true,
};

/** Our address for one of a self-hosted LangSmith; any other stays. */
export function rewriteAddress(request: Pick<IncomingMessage, 'url'> & Partial<IncomingMessage>): string {
  const { url = '/', headers, method } = request;
  if (ROOT.test(url) && method === 'GET' && IS_BROWSER.test(headers?.accept ?? '')) return '/console';
  let address = url;
  for (const { from, to, isVendors = false } of [...ADDRESSES, INTEGRATIONS]) {
    if (!from.test(address)) continue;
    if (isVendors) vendors.add(request);
    address = address.replace(from, to);
    if (!address.startsWith('/')) address = `/${address}`;
  }
  return address;
}

/** True for a request to an address that only the vendor's clients call. */
export function isVendorsAddress(request: object): boolean {
  return vendors.has(request);
}
