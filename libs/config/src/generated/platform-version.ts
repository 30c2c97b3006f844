// Generated from package.json by `npm run generate`. Do not edit.

/** Version of the platform and of everything in it. */
export const PLATFORM_VERSION = '0.2.0';
