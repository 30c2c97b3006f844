/** A volume of a folder of the node, for the one claim that fits it. */
export function hostVolume(name: string, storage: string, path: string): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path, type: 'Directory' },
    },
  };
}
