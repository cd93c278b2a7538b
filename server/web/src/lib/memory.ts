// Peak memory is PSS on Android, the physical footprint on iOS and RSS elsewhere: different quantities, never in
// one column or on one axis.
export type MemoryKind = 'pss' | 'footprint' | 'rss';

interface Measured {
    platform: string;
    peak_memory_kb: number | null;
}

export const memoryName: Record<MemoryKind, string> = { pss: 'PSS', footprint: 'footprint', rss: 'RSS' };

export const memoryKind = (platform: string): MemoryKind => (platform === 'ios' ? 'footprint' : platform === 'linux' ? 'rss' : 'pss');

// The kinds that rows tell, in that order; PSS if none does.
export function memoryKinds(rows: Measured[]): MemoryKind[] {
    const all: MemoryKind[] = ['pss', 'footprint', 'rss'];
    const told = all.filter((kind) => rows.some((r) => r.peak_memory_kb && memoryKind(r.platform) === kind));
    return told.length ? told : ['pss'];
}

export const memoryOf = (row: Measured, kind: MemoryKind): number | null =>
    row.peak_memory_kb && memoryKind(row.platform) === kind ? row.peak_memory_kb : null;
