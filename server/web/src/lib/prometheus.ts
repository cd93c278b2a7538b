// Prometheus' text format, as far as /metrics uses it.
export interface Sample {
    name: string;
    labels: Record<string, string>;
    value: number;
}

export function readMetrics(text: string): Sample[] {
    const out: Sample[] = [];
    for (const line of text.split('\n')) {
        const m = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
        if (!m) continue;
        const labels: Record<string, string> = {};
        for (const [, name, value] of (m[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
        out.push({ name: m[1], labels, value: Number(m[3]) });
    }
    return out;
}

export const total = (all: Sample[], name: string, labels: Record<string, string> = {}) =>
    all
        .filter((s) => s.name === `framewatch_${name}` && Object.entries(labels).every(([k, v]) => s.labels[k] === v))
        .reduce((sum, s) => sum + s.value, 0);

// The bucket's upper bound within which a share of a histogram's observations lies.
export function within(all: Sample[], name: string, share: number): number | null {
    const buckets = all.filter((s) => s.name === `framewatch_${name}_bucket`);
    const count = total(all, `${name}_count`);
    const found = buckets.find((b) => b.value >= share * count);
    return count && found ? Number(found.labels.le) : null;
}
