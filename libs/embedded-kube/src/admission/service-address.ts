import { type KubeObject, recordAt, textAt, withField } from '#lib/kube-semantics';

/** Services have no virtual address here: on one machine a Service is reached by its loopback port. */
export function admitService(service: KubeObject): KubeObject {
  const spec = recordAt(service, 'spec');
  if (textAt(spec, ['type'], 'ClusterIP') === 'ExternalName') return service;
  const clusterIP = textAt(spec, ['clusterIP']) || 'None';
  return withField(service, 'spec', {
    clusterIPs: [clusterIP],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    ...spec,
    clusterIP,
  });
}
