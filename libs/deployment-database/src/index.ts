export { databaseUri, deploymentDatabases } from './deployment-database-server.js';
export type { DeploymentDatabases } from './deployment-databases.js';
export { parseRoleNote, renderRoleNote, type RoleNote } from './role-note.js';
