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
 * What a transfer that failed means. skopeo has one exit code for all failures, and says by text alone what a registry
 * answered.
 * @param what was attempted, as `pushing IMAGE`
 * @param image a reference, whose own words count for nothing
 * @param errors what skopeo printed
 */
export function registryTrouble(what: string, image: string, errors: string): BuildError {
  const message = lastMessage(errors);
  const [, name = image] = /^(.+?)(?::[^:/]+|@.+)?$/.exec(image) ?? [];
  const text = message.replaceAll(name, 'IMAGE');
  // an address that is refused by a proxy is away as well, so it is looked for first
  if (AWAY.test(text))
    return new RegistryUnavailableError(`${what} failed: the registry is unavailable: ${message}`);
  if (REFUSED.test(text))
    return new BuildError(
      `${what} was refused: ${message}; correct the Secret that builds.pushSecret of the chart names, and what its user may do`,
    );
  if (MISSING.test(text)) return new BuildError(`${what} failed: it does not exist: ${message}`);
  return new BuildError(`${what} failed: ${message}`);
}

/** Of `time="…" level=fatal msg="…"`, the message. */
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
