// Steps before a jank as flows: the last column is the jank. Reads only near it, so a few steps.
import { sankey, sankeyLinkHorizontal } from 'd3-sankey';
import { num } from '../lib/format';
import { t } from '../lib/i18n';

interface Node {
    id: string;
    name: string;
}
interface Flow {
    source: number;
    target: number;
    value: number;
}

const STEPS = 3;
const MOST = 6; // names of a column; the others are one

export function flows(windows: string[][]): { nodes: Node[]; links: Flow[] } {
    const columns: Map<string, number>[] = Array.from({ length: STEPS }, () => new Map());
    for (const w of windows)
        for (let back = 1; back <= STEPS && back <= w.length; back++) {
            const name = w[w.length - back];
            columns[back - 1].set(name, (columns[back - 1].get(name) ?? 0) + 1);
        }
    const kept = columns.map((c) => new Set([...c].sort((a, b) => b[1] - a[1]).slice(0, MOST).map(([name]) => name)));
    const nodes: Node[] = [{ id: 'jank', name: t('jank') }];
    const place = new Map<string, number>([['jank', 0]]);
    const at = (back: number, name: string) => {
        const shown = kept[back - 1].has(name) ? name : t('other steps');
        const id = `${back}:${shown}`;
        if (!place.has(id)) {
            place.set(id, nodes.length);
            nodes.push({ id, name: shown });
        }
        return place.get(id)!;
    };
    const sums = new Map<string, Flow>();
    for (const w of windows)
        for (let back = 1; back <= STEPS && back <= w.length; back++) {
            const source = at(back, w[w.length - back]);
            const target = back === 1 ? 0 : at(back - 1, w[w.length - back + 1]);
            const key = `${source}>${target}`;
            const own = sums.get(key) ?? { source, target, value: 0 };
            own.value++;
            sums.set(key, own);
        }
    return { nodes, links: [...sums.values()] };
}

export function Sankey({ windows, width = 760, height = 260 }: { windows: string[][]; width?: number; height?: number }) {
    const graph = flows(windows);
    const laid = sankey<Node, object>()
        .nodeWidth(9)
        .nodePadding(9)
        .extent([
            [1, 6],
            [width - 70, height - 6],
        ])({ nodes: graph.nodes.map((n) => ({ ...n })), links: graph.links.map((l) => ({ ...l })) });
    const path = sankeyLinkHorizontal();
    const last = laid.nodes[0];
    return (
        <div class="scroll" tabIndex={0} role="region" aria-label={t('Steps before the jank')}>
            <svg class="sankey" viewBox={`0 0 ${width} ${height}`} width="100%" style={{ minWidth: '560px', maxWidth: '900px' }} role="img" aria-label={t('The last {n} steps before {windows} janks; the table tells the same.', { n: STEPS, windows: windows.length })}>
                {laid.links.map((l) => (
                    <path d={path(l as never) ?? ''} fill="none" stroke={l.target === last ? 'var(--normal)' : 'var(--faint)'} stroke-opacity="0.28" stroke-width={Math.max(1, l.width ?? 1)}>
                        <title>{`${(l.source as Node).name} → ${(l.target as Node).name}: ${num(l.value)}`}</title>
                    </path>
                ))}
                {laid.nodes.map((n) => (
                    <g>
                        <rect x={n.x0} y={n.y0} width={n.x1! - n.x0!} height={Math.max(1, n.y1! - n.y0!)} fill={n === last ? 'var(--normal)' : 'var(--c1)'} rx="1.5" />
                        <text x={n.x1! + 6} y={(n.y0! + n.y1!) / 2} dominant-baseline="middle">
                            {n.name}
                        </text>
                    </g>
                ))}
            </svg>
        </div>
    );
}
