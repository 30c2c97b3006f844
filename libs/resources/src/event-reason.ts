/**
 * Reasons of events that are not the reason of a condition too; an event that reports a condition carries its `REASON`.
 * Described in docs/reference/, which a check keeps complete.
 */
export const EVENT = {
  // any kind
  reconcileFailed: 'ReconcileFailed',
  membersIgnored: 'MembersIgnored',
  // AgentDeployment
  archivingFailed: 'ArchivingFailed',
  databaseAddressChanged: 'DatabaseAddressChanged',
  databaseNameInvalid: 'DatabaseNameInvalid',
  fieldsIgnored: 'FieldsIgnored',
  rolledBack: 'RolledBack',
  revisionCreated: 'RevisionCreated',
  fellAsleep: 'FellAsleep',
  woken: 'Woken',
  pushed: 'Pushed',
  placeAbandoned: 'PlaceAbandoned',
  outputNotKept: 'OutputNotKept',
  trafficSwitched: 'TrafficSwitched',
  // Jobs of the platform
  sealingFailed: 'SealingFailed',
  setupFailed: 'SetupFailed',
} as const;
