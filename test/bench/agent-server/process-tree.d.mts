export function treeOf(root: number): number[];
export function cpuOf(root: number): Map<number, number>;
export function wholeCpuOf(root: number): number;
export function residentOf(root: number): number;
