import { closeSync, readdirSync, readFileSync } from 'node:fs';

const O_CLOEXEC = 0o2000000;

/**
 * Closes open files of the starter, such as the lock of a script (`exec 200>FILE`): agents, and scripts of packages that
 * are installed, would have them. Node keeps those alone from its children whose numbers follow one another. Files that a
 * word of the command or a variable names (`-f /dev/fd/63`) stay open.
 */
export function closeInherited() {
  if (process.platform !== 'linux') return;
  const words = [...process.argv, ...Object.values(process.env)];
  for (const name of readdirSync('/proc/self/fd'))
    if (Number(name) > 2 && isInherited(name) && !words.some((word) => word.endsWith(`/fd/${name}`)))
      closeSync(Number(name));
}

/** Whether other programs have it: nothing that Node opens. */
function isInherited(name) {
  try {
    const [, flags = ''] = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'utf8')) ?? [];
    return (parseInt(flags, 8) & O_CLOEXEC) === 0;
  } catch {
    return false; // the list of descriptors was read by it
  }
}
