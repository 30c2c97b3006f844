import { TerminalError } from '#lib/errors';

/** What makes pip write in other places, install something else, or run code of its author. */
const STEERING =
  /^-{0,2}(target|prefix|root|user|python|requirements?|requirements-from-script|editable|src|log|log-file|local-log|report|cache-dir|no-binary|config-settings?|global-options?|build-options?|install-options?|isolated|break-system-packages)$/;

/**
 * Checks the file that `pip_config_file` of `langgraph.json` names. It is the author's, and pip runs as the platform.
 * @throws TerminalError when it says more than where packages come from
 */
export function requireHarmlessConfig(file: string, text: string): void {
  for (const line of text.split(/[\r\n\p{Zl}\p{Zp}\v\f\u0085\u001c-\u001e]+/u)) {
    const name = line.split(/[=:]/)[0]?.trim().toLowerCase().replaceAll('_', '-') ?? '';
    if (STEERING.test(name))
      throw new TerminalError(
        'NotAnAgent',
        `${file}: ${JSON.stringify(name)} is not a setting that an image may give pip; keep indexes, certificates and time limits in it`,
      );
  }
}
