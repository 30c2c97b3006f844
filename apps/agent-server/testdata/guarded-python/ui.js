/** Nothing to see: who may load it matters alone. */
export default { badge: () => null };
