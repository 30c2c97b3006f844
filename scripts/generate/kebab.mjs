/** `AgentDeployment` → `agent-deployment` */
export function kebab(word) {
  return word.replace(/([a-z])([A-Z])/g, '$1-$2').toLowerCase();
}
