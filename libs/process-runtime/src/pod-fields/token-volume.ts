/** `kube-api-access-…`, by what it projects: a user's volume may have any name. */
export function isTokenVolume(value: unknown): boolean {
  const { sources } = value as { readonly sources?: readonly Readonly<Record<string, unknown>>[] };
  // a token for another audience is not the one in the kubeconfig
  const isOwnToken = (token: unknown): boolean =>
    typeof token === 'object' && token !== null && !('audience' in token && token.audience !== '');
  const isCa = (source: unknown): boolean => jsonName(source) === 'kube-root-ca.crt';
  return (
    sources?.every(
      (source) =>
        isOwnToken(source['serviceAccountToken']) || 'downwardAPI' in source || isCa(source['configMap']),
    ) === true && sources.some((source) => 'serviceAccountToken' in source)
  );
}

function jsonName(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'name' in value ? value.name : undefined;
}
