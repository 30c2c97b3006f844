import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './platform.js';

const VERSION = '99.0.0';

/**
 * The chart as another version, with a value that the installed one has not; the path of its archive.
 * @param folder for it
 */
export function packNextChart(helm: string, folder: string): string {
  const next = join(folder, 'next');
  cpSync(join(repository, 'charts/agentplane'), next, { recursive: true });
  rmSync(join(next, 'values.schema.json'));
  appendFileSync(join(next, 'values.yaml'), '\nnewcomer: { note: here }\n');
  const note = `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: newcomer }\ndata: { note: '{{ .Values.newcomer.note }}' }\n`;
  writeFileSync(join(next, 'templates', 'newcomer.yaml'), note);
  execFileSync(helm, ['package', next, '--version', VERSION, '-d', folder], { stdio: 'ignore' });
  return join(folder, `agentplane-${VERSION}.tgz`);
}
