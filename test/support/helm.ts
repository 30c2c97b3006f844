import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { repository } from './platform.js';

const home = process.env.KUBE_HOME ?? join(homedir(), '.cache', 'agentplane', 'kube');
/** The chart of this repository. */
export const CHART = join(repository, 'charts', 'agentplane');

/** A rendered object; of its members those that tests look at. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly rules?: readonly unknown[];
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template?: { readonly metadata: object; readonly spec: PodSpec };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
  };
}

export interface PodSpec {
  readonly serviceAccountName?: string;
  readonly volumes?: readonly object[];
  readonly containers: readonly {
    readonly name: string;
    readonly image: string;
    readonly env?: readonly Variable[];
    readonly readinessProbe?: { readonly timeoutSeconds?: number };
    readonly livenessProbe?: { readonly periodSeconds?: number; readonly failureThreshold?: number };
    readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  }[];
}

export interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef?: { readonly name: string; readonly key: string };
    readonly fieldRef?: { readonly fieldPath: string };
  };
}

/** The helm that test/cluster/install.sh builds, or undefined. */
export function findHelm(): string | undefined {
  const built = join(home, 'bin', 'helm');
  return existsSync(built) ? built : undefined;
}

/** Texts of the chart with values that were rendered before, by these values: Helm takes half a second for each. */
const rendered = new Map<string, string>();

/** Helm on the chart of this repository. */
export class Helm {
  /** @param folder for files of values */
  constructor(
    private readonly binary: string,
    private readonly folder: string,
  ) {}

  /** Runs a command with values; never throws. */
  try(command: readonly string[], values: object): { readonly code: number | null; readonly text: string } {
    const file = join(this.folder, 'values.yaml');
    writeFileSync(file, JSON.stringify(values)); // JSON is YAML too
    const env = { ...process.env, GOGC: 'off' }; // a command that ends needs no collector
    const words = [...command, CHART, '--values', file];
    const ran = spawnSync(this.binary, words, { encoding: 'utf8', env });
    return { code: ran.status, text: `${ran.stdout}${ran.stderr}` };
  }

  /** What an installation into the namespace `plane` would apply, hooks included. */
  render(values: object): Rendered[] {
    return parseAllDocuments(this.#textOf(values))
      .map((document) => document.toJS() as Rendered | null)
      .filter((object) => object !== null);
  }

  #textOf(values: object): string {
    const key = JSON.stringify(values);
    const known = rendered.get(key);
    if (known !== undefined) return known;
    const { code, text } = this.try(['template', 'agentplane', '--namespace', 'plane'], values);
    if (code !== 0) throw new Error(text);
    rendered.set(key, text);
    return text;
  }
}
