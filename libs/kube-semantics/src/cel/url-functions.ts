import type { Environment } from '@marcbachmann/cel-js';

/** Kubernetes' URL library. */
export function registerUrlFunctions(environment: Environment): void {
  environment.registerType('kubernetes.URL', URL);
  environment.registerFunction('isURL(string): bool', isUrl);
  environment.registerFunction('url(string): kubernetes.URL', parse);
  environment.registerFunction('kubernetes.URL.getScheme(): string', (url: URL) => url.protocol.slice(0, -1));
  environment.registerFunction('kubernetes.URL.getHost(): string', (url: URL) => url.host);
  environment.registerFunction('kubernetes.URL.getHostname(): string', (url: URL) =>
    url.hostname.replaceAll(/^\[|\]$/g, ''),
  );
  environment.registerFunction('kubernetes.URL.getPort(): string', (url: URL) => url.port);
  environment.registerFunction('kubernetes.URL.getEscapedPath(): string', (url: URL) => url.pathname);
  environment.registerFunction('kubernetes.URL.getQuery(): map', (url: URL) =>
    Object.fromEntries(
      [...new Set(url.searchParams.keys())].map((key) => [key, [...url.searchParams.getAll(key)]]),
    ),
  );
}

function isUrl(text: string): boolean {
  return (/^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text) && URL.canParse(text)) || /^\/[^\s]*$/.test(text);
}

function parse(text: string): URL {
  if (!isUrl(text))
    throw new Error(
      `URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`,
    );
  return new URL(text, 'relative://');
}
