// The order of test files: those that take longest come first, so that none of them is left over at the end, when the
// other processors have nothing to do. Where Jest has no times of an earlier run, as in a fresh clone, it goes by size,
// and some of the shortest files start whole platforms again and again.
const Sequencer = require('@jest/test-sequencer').default;

/** Files of more than forty seconds, the longest first. */
const LONGEST = [
  'test/e2e/real-kubernetes.spec.ts',
  'test/control-plane/export-workers.spec.ts',
  'test/faults/kill.spec.ts',
  'test/faults/asleep.spec.ts',
  'test/e2e/remote-listener.spec.ts',
  'test/cli/commands.spec.ts',
  'test/security/attacks.spec.ts',
  'test/conformance/kubectl-transcript.spec.ts',
  'test/e2e/scale-to-zero.spec.ts',
  'test/e2e/every-field.spec.ts',
  'test/conformance/agent-server/three-replicas.spec.ts',
];

module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const place = ({ path }) => {
      const at = LONGEST.findIndex((file) => path.endsWith(`/${file}`));
      return at < 0 ? LONGEST.length : at;
    };
    // the sort is stable: all others keep the order that Jest gives them
    return [...super.sort(tests)].sort((one, other) => place(one) - place(other));
  }
};
