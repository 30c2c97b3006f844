import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DataPaths } from '#lib/data-folder';

/** A start by a newer version than the one before. */
export interface Upgrade {
  /** Folder to which the cluster is copied. */
  readonly cluster: string;
  /** Copies the small files, once; a copy that was interrupted is made anew. */
  copyFiles(): void;
}

/** Files that a start may change beside the databases. Objects, images and logs are only ever added to. */
const FILES = ['format.json', 'credentials.json', 'ports.json', 'kubeconfig', 'secrets', 'kube'];

/** @param version that was here before */
export function upgradeFrom({ root }: DataPaths, version: string): Upgrade {
  const copy = join(root, 'backups', version);
  return {
    cluster: join(copy, 'postgres'),
    copyFiles() {
      const files = join(copy, 'files');
      const partial = `${files}.partial`;
      if (existsSync(files)) return;
      rmSync(partial, { recursive: true, force: true });
      mkdirSync(partial, { recursive: true, mode: 0o700 });
      for (const name of FILES.filter((one) => existsSync(join(root, one))))
        cpSync(join(root, name), join(partial, name), { recursive: true, preserveTimestamps: true });
      renameSync(partial, files);
    },
  };
}

/** True when a version is newer than another by its three numbers; one without such numbers is not. */
export function isNewer(version: string, than: string): boolean {
  const [one, other] = [version, than].map((text) => text.split('-')[0]?.split('.').map(Number) ?? []);
  for (let place = 0; place < 3; place++) {
    const difference = (one?.[place] ?? 0) - (other?.[place] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
