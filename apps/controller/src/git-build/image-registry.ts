import type { ImageRegistry } from '#lib/manifests';
import type { ControllerConfig } from '../config.js';

/** Registry for images of builds from this program's configuration; undefined when it has none. */
export function imageRegistry(config: ControllerConfig): ImageRegistry | undefined {
  const { buildRegistry: prefix, buildNamespace: namespace, buildPushSecret: pushSecret } = config;
  if (prefix === undefined) return undefined;
  const { buildRegistryInsecure: isInsecure, buildRegistryCa: ca } = config;
  const { buildBase: base, buildPythonBase: pythonBase } = config;
  return { prefix, namespace, pushSecret, isInsecure, ca, base, pythonBase };
}
