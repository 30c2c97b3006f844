import { type ExitName, visibleText } from '#lib/command-line';
import { errorText } from '#lib/errors';
import { KubeApiError, KubeUnreachableError } from '#lib/kube';
import { EXIT } from '#lib/lifecycle';
import { RestError, RestRedirectError, RestUnreachableError } from '#lib/rest-client';
import { CommandError } from './command-error.js';

/** Says on standard error why a command failed; the exit code. */
export function reportError(error: unknown): number {
  process.stderr.write(`${visibleText(textOf(error))}\n`);
  return EXIT[exitOf(error)];
}

function textOf(error: unknown): string {
  if (error instanceof KubeUnreachableError)
    return `the Kubernetes API did not answer (${errorText(error.cause)}); "agentplane status" shows what runs`;
  if (error instanceof RestUnreachableError)
    return `${error.message} (${errorText(error.cause)}); "agentplane status" shows what runs`;
  if (error instanceof KubeApiError && error.code === 401)
    return `the Kubernetes API refused the credentials: ${error.message}; check the kubeconfig`;
  return errorText(error);
}

function exitOf(error: unknown): ExitName {
  if (error instanceof CommandError) return error.exit;
  if (
    error instanceof KubeUnreachableError ||
    error instanceof RestUnreachableError ||
    error instanceof RestRedirectError
  )
    return 'unreachable';
  const status = error instanceof KubeApiError ? error.code : error instanceof RestError ? error.status : 0;
  switch (status) {
    case 401:
    case 403:
      return 'refused';
    case 404:
      return 'notFound';
    case 502:
    case 503:
      return 'unreachable';
    default:
      return 'failed';
  }
}
