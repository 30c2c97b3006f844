/** Codes of npm and of Node that the network or the registry caused. */
const OUTAGE =
  /^(EAI_AGAIN|EAI_FAIL|ENOTFOUND|ECONNREFUSED|ECONNRESET|ECONNABORTED|E(SOCKET)?TIMEDOUT|ERR_SOCKET_TIMEOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|E(429|5\d\d))$/;

/**
 * Patterns for the line in which npm, pnpm, yarn 1 and later yarns write why they ended; yarn's scripts write
 * nothing in these forms.
 */
const CODES = [
  /^npm (?:error|ERR!) code (\S+)/gm,
  /ERR_PNPM_FETCH_(\d{3})\b/g,
  /^ ?(E[A-Z_]+) {2}request to /gm,
  /^error (?:An unexpected error occurred: ")?(?:Error: )?(?:\S+: )?Request failed \\?"(\d{3})\b/gm,
  /^error (?:An unexpected error occurred: ")?(?:Error: )?(?:\S+: )?(?:connect|getaddrinfo|read|socket|network) (E[A-Z_]+)/gm,
  /^error (?:An unexpected error occurred: ")?(?:Error: )?(?:\S+: )?(ESOCKETTIMEDOUT|ETIMEDOUT)/gm,
  /^➤ YN0035: │ {3}Response Code: (\d{3})\b/gm,
  /^➤ YN0001: │ (?:\S+: )?RequestError: (?:\w+ )?(E[A-Z_]+)\b/gm,
];

/**
 * Reason why a package manager could not reach its registry, by the code in its output; undefined when
 * another attempt cannot help: a package that does not exist, a digest that differs, an install script that
 * failed.
 */
export function registryOutage(output: string): string | undefined {
  const codes = CODES.flatMap((pattern) => [...output.matchAll(pattern)]).map(([, code = '']) =>
    /^\d{3}$/.test(code) ? `E${code}` : code,
  );
  return codes.every((code) => OUTAGE.test(code)) ? codes[0] : undefined;
}
