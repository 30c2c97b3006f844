import { checkConformance } from '../conformance/agent-server/conformance.js';
import { deployAgent, type DeployedAgent } from '../conformance/agent-server/deployed.js';
import { newDataFolder, removeDataFolder } from '../support/platform.js';

const dataFolder = newDataFolder();
let agent: DeployedAgent;

beforeAll(async () => {
  agent = await deployAgent(dataFolder);
});

afterAll(async () => {
  await agent?.stop();
  removeDataFolder(dataFolder);
});

/** The agent deployed by the platform of one machine keeps every promise through its Service. */
checkConformance(() => agent.target, ['guarded', 'key', 'tuned']);
