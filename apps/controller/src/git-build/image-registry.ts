import type { ImageRegistry } from '#lib/manifests';
import type { ControllerConfig } from '../config.js';

/** Where images of builds go, as this program is set; undefined where it has no registry. */
export function imageRegistry(config: ControllerConfig): ImageRegistry | undefined {
  const { buildRegistry: prefix, buildNamespace: namespace, buildPushSecret: pushSecret } = config;
  if (prefix === undefined) return undefined;
  const { buildRegistryInsecure: isInsecure, buildRegistryCa: ca } = config;
  const { buildBase: base, buildPythonBase: pythonBase } = config;
  return { prefix, namespace, pushSecret, isInsecure, ca, base, pythonBase };
}
