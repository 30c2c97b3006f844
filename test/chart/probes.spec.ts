import { temporaryFolder } from '#lib/testing';
import { findHelm, Helm, type Rendered } from '../support/helm.js';
import { leaveOut } from '../support/kubectl.js';
import { VALUES } from './chart-values.js';

const binary = findHelm();

if (!binary) leaveOut('helm');

(binary ? describe : describe.skip)('readiness in the chart', () => {
  const helm = new Helm(binary ?? '', temporaryFolder());
  const probedOf = ({ spec }: Rendered) =>
    (spec?.template?.spec.containers ?? []).filter(({ readinessProbe }) => readinessProbe !== undefined);

  it.each(Object.entries(VALUES))(
    'allows more than the second that is the default, with %s',
    (_what, values) => {
      const hasty = helm
        .render(values)
        .flatMap(probedOf)
        .filter(({ readinessProbe }) => (readinessProbe?.timeoutSeconds ?? 1) < 3)
        .map(({ name }) => name);
      expect(hasty).toEqual([]);
    },
  );

  it('starts a listener again that has hung for half a minute', () => {
    const [listener] = helm
      .render(VALUES['a remote listener'] ?? {})
      .filter(({ kind }) => kind === 'Deployment');
    const { periodSeconds = 0, failureThreshold = 0 } =
      listener?.spec?.template?.spec.containers[0]?.livenessProbe ?? {};
    expect(periodSeconds * failureThreshold).toBe(30);
  });
});
