import { AGENT_VOLUMES, findBaselineViolation, type RefusedObject, refusedObjectText } from '#lib/manifests';
import { REASON } from '#lib/resources';
import { judgedSpecs } from './judged-specs.js';
import type { DeploymentWorld } from './observe.js';

/** Reason why pods of the deployment are not made as they are asked for: what they name, mount, or may do. */
export function refusePod(
  world: DeploymentWorld,
): { readonly reason: string; readonly message: string } | undefined {
  const { refusedObject } = world;
  if (refusedObject) return { reason: reasonOf(refusedObject), message: refusedObjectText(refusedObject) };
  const volume = refusedVolume(world);
  if (volume !== undefined) return { reason: REASON.volumeRefused, message: volume };
  const violation = refusedSecurity(world);
  return violation === undefined ? undefined : { reason: REASON.podSecurityRefused, message: violation };
}

function refusedVolume(world: DeploymentWorld): string | undefined {
  const refused = AGENT_VOLUMES.filter((kind) => !world.agentVolumes.includes(kind));
  for (const { volumes = [] } of judgedSpecs(world))
    for (const volume of volumes) {
      const kind = refused.find((one) => volume[one] !== undefined);
      if (kind !== undefined)
        return `volume ${volume.name} of kind ${kind} is not for agents of this installation; use another kind, or have AGENTPLANE_AGENT_VOLUMES (agents.volumes of the chart) changed`;
    }
  return undefined;
}

/** An API server would refuse each pod, and a revision would fail minutes later. */
function refusedSecurity(world: DeploymentWorld): string | undefined {
  const { podSecurity, listener, deployment } = world;
  if (podSecurity === undefined || podSecurity === 'privileged' || listener?.spec.remote) return undefined;
  const [violation] = judgedSpecs(world).flatMap((spec) => findBaselineViolation(spec) ?? []);
  return (
    violation &&
    `${violation.field} ${violation.value} refused: namespace ${deployment.metadata.namespace ?? ''} enforces the Pod Security Standard ${podSecurity}; remove it`
  );
}

function reasonOf({ kind }: RefusedObject): string {
  return kind === 'PersistentVolumeClaim' ? REASON.volumeRefused : REASON.secretRefused;
}
