import { resolve } from 'node:path';
import type { FlagsOf, UP } from '#lib/command-line';

/** What the command line says. */
export type UpFlags = FlagsOf<typeof UP.options>;

/** `agentplane up` as asked for. */
export interface UpOptions {
  readonly dataFolder: string;
  readonly host: string;
  /** 0: any free port, then kept. */
  readonly port: number;
  /** A cluster of one's own: its API server is used instead of the embedded one, and this machine joins it as a node. */
  readonly kubeconfigPath: string | undefined;
}

/** Parses `--listen HOST:PORT`. Only this machine may be listened on: there is no TLS in front. */
function parseListen(text: string): { readonly host: string; readonly port: number } {
  const found = /^(.+):(\d{1,5})$/.exec(text);
  const host = found?.[1] ?? '';
  const port = Number(found?.[2] ?? -1);
  if (!found || port > 65_535) throw new Error(`--listen must look like 127.0.0.1:8470, but is ${text}`);
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(host))
    throw new Error(
      `--listen may name this machine only (127.0.0.1, localhost), but is ${host}: put a proxy with TLS in front to serve others`,
    );
  return { host: host === 'localhost' ? '127.0.0.1' : host.replace(/[[\]]/g, ''), port };
}

export function parseUpOptions(flags: UpFlags): UpOptions {
  return {
    dataFolder: resolve(flags.data),
    ...parseListen(flags.listen),
    kubeconfigPath: flags.kubeconfig === undefined ? undefined : resolve(flags.kubeconfig),
  };
}
