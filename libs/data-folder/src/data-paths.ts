import { join, resolve } from 'node:path';

/** Every path of a data folder. */
export interface DataPaths {
  readonly root: string;
  readonly credentials: string;
  readonly kubeconfig: string;
  readonly ports: string;
  readonly secrets: string;
  /** Users of the embedded object store, in `secrets`. */
  readonly storeUsers: string;
  /** The platform's own certificate and key, in `secrets`. */
  readonly tlsCertificate: string;
  readonly tlsKey: string;
  readonly objects: string;
  readonly images: string;
  readonly node: string;
  readonly kube: string;
  readonly logs: string;
  readonly children: string;
}

/** The paths, without touching anything. */
export function dataPaths(folder: string): DataPaths {
  const root = resolve(folder);
  return {
    root,
    credentials: join(root, 'credentials.json'),
    kubeconfig: join(root, 'kubeconfig'),
    ports: join(root, 'ports.json'),
    secrets: join(root, 'secrets'),
    storeUsers: join(root, 'secrets', 'object-store.json'),
    tlsCertificate: join(root, 'secrets', 'tls-certificate.pem'),
    tlsKey: join(root, 'secrets', 'tls-key.pem'),
    objects: join(root, 'objects'),
    images: join(root, 'images'),
    node: join(root, 'node'),
    kube: join(root, 'kube'),
    logs: join(root, 'logs'),
    children: join(root, 'children.json'),
  };
}
