import { TerminalError } from '#lib/errors';

/** Settings that say where packages come from, how long is waited for them, and what pip prints. */
const ALLOWED: ReadonlySet<string> = new Set([
  'index-url',
  'pypi-url',
  'extra-index-url',
  'no-index',
  'find-links',
  'trusted-host',
  'cert',
  'client-cert',
  'proxy',
  'timeout',
  'default-timeout',
  'retries',
  'resume-retries',
  'only-binary',
  'prefer-binary',
  'pre',
  'require-hashes',
  'upgrade-strategy',
  'disable-pip-version-check',
  'no-input',
  'no-color',
  'quiet',
  'verbose',
  'progress-bar',
]);

/** Python ends a line at these as well. */
const LINE_ENDS = /[\r\n\p{Zl}\p{Zp}\v\f\u0085\u001c-\u001e]+/u;
const COMMENT_OR_SECTION = /^(?:[#;].*|\[[^\]]*\])$/;
/** One of several addresses. If pip took the line for a setting of this name, it would ignore it. */
const ADDRESS = /^(?:https?|file):\/\/\S*$/;

/**
 * Checks the file that `pip_config_file` of `langgraph.json` names. It is the author's, and pip runs as the platform: a
 * setting that is not known to be harmless may have code of a package run, or files written elsewhere.
 * @throws TerminalError when it says more than where packages come from
 */
export function requireHarmlessConfig(file: string, text: string): void {
  for (const line of text.split(LINE_ENDS).map((one) => one.trim())) {
    if (line === '' || COMMENT_OR_SECTION.test(line) || ADDRESS.test(line)) continue;
    const [name = '', value] = line.split(/[=:]/);
    // a line without a value continues the setting above it, or is an error for pip
    if (value === undefined) continue;
    const setting = name.trim().toLowerCase().replaceAll('_', '-').replace(/^--/, '');
    if (!ALLOWED.has(setting))
      throw new TerminalError(
        'NotAnAgent',
        `${file}: ${JSON.stringify(setting)} is not a setting that an image may give pip; keep indexes, certificates and time limits in it` +
          (setting === 'constraint' ? ', and name constraints in requirements.txt (-c FILE)' : ''),
      );
  }
}
