/** Nothing to see: where it is served matters alone. */
export default { badge: () => null };
