export function usesSharedPlatform(path: string): boolean;
export function takeNext<T>(queue: T[], lane: number, needsPlatform: (test: T) => boolean): T | undefined;
