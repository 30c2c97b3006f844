import { REGISTRY_UNAVAILABLE } from '#lib/lifecycle';
import { BuildError } from '../build-error.js';

/** The registry does not answer, or is too busy: another attempt may succeed. */
export class RegistryUnavailableError extends BuildError {
  override readonly name = 'RegistryUnavailableError';
  override readonly reason = REGISTRY_UNAVAILABLE;
}

const STATUS = 'status(?: code)?(?: from registry)?:? ';
const REFUSED = new RegExp(
  `unauthorized|authentication required|denied|forbidden|invalid username/password|${STATUS}40[13]`,
  'i',
);
const AWAY = new RegExp(
  `dial tcp|connection re(?:fused|set)|no such host|time(?:d )?out|\\bEOF\\b|broken pipe|too ?many ?requests|${STATUS}(?:429|5\\d\\d)`,
  'i',
);
const MISSING = /manifest unknown|name unknown|not known|not found/i;
const MAX_TEXT = 600;

/**
 * Error for a transfer that failed. skopeo has one exit code for all failures, and reports a registry's
 * answer only in text.
 * @param what was attempted, as `pushing IMAGE`
 * @param image a reference, whose own words count for nothing
 * @param errors output of skopeo
 */
export function registryTrouble(what: string, image: string, errors: string): BuildError {
  const message = lastMessage(errors);
  const [, name = image] = /^(.+?)(?::[^:/]+|@.+)?$/.exec(image) ?? [];
  const text = message.replaceAll(name, 'IMAGE');
  // an address refused by a proxy also matches as unavailable, so it is looked for first
  if (AWAY.test(text))
    return new RegistryUnavailableError(`${what} failed: the registry is unavailable: ${message}`);
  if (REFUSED.test(text))
    return new BuildError(
      `${what} was refused: ${message}; correct the Secret that builds.pushSecret of the chart names, and what its user may do`,
    );
  if (MISSING.test(text)) return new BuildError(`${what} failed: it does not exist: ${message}`);
  return new BuildError(`${what} failed: ${message}`);
}

/** The message of `time="…" level=fatal msg="…"`. */
function lastMessage(errors: string): string {
  const lines = errors.split('\n').filter((line) => line.trim() !== '');
  const last = lines.at(-1) ?? 'skopeo ended without a reason';
  const quoted = /msg=("(?:[^"\\]|\\.)*")/.exec(last)?.[1];
  return unquoted(quoted) ?? last.slice(0, MAX_TEXT);
}

function unquoted(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value.slice(0, MAX_TEXT) : undefined;
  } catch {
    return text.slice(0, MAX_TEXT); // an escape that only Go has
  }
}
