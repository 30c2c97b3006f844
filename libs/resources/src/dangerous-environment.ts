/**
 * Variables with which data becomes code, or trust is given away: options and search paths of the runtime, the dynamic
 * linker, the shell and Python, and what TLS believes. A key of a deployment can be set by more people than its image.
 */
const DANGEROUS_ENVIRONMENT: ReadonlySet<string> = new Set([
  'PATH',
  'NODE_OPTIONS',
  'NODE_PATH',
  'NODE_EXTRA_CA_CERTS',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'NODE_REPL_EXTERNAL_MODULE',
  'NODE_V8_COVERAGE',
  'OPENSSL_CONF',
  'OPENSSL_ENGINES',
  'OPENSSL_MODULES',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
  'SSLKEYLOGFILE',
  'BASH_ENV',
  'ENV',
  'GCONV_PATH',
  'GLIBC_TUNABLES',
  'PYTHONBREAKPOINT',
  'PYTHONEXECUTABLE',
  'PYTHONHOME',
  'PYTHONINSPECT',
  'PYTHONPATH',
  'PYTHONSTARTUP',
  'PYTHONUSERBASE',
  'PYTHONWARNINGS',
]);

/** Variables of the dynamic linkers of Linux and macOS. */
const DANGEROUS_PREFIXES = ['LD_', 'DYLD_'] as const;

/** True when users may set this variable only where the Workspace has `allowDangerousEnvironment`. */
export function isDangerousEnvironment(name: string): boolean {
  return DANGEROUS_ENVIRONMENT.has(name) || DANGEROUS_PREFIXES.some((prefix) => name.startsWith(prefix));
}
