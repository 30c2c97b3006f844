export { databaseUri, deploymentDatabases } from './deployment-database-server.js';
export type { DeploymentDatabases } from './deployment-databases.js';
