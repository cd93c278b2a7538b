// A flame graph as an icicle on a canvas: the root above, callees below, widest first. Counts are
// samples, not milliseconds. With a second build, colours tell the difference of shares.
import { num, percent } from '../lib/format';
import { t } from '../lib/i18n';
import { palette } from '../lib/theme';

export interface FlameNode {
    name: string;
    total: number;
    self: number;
    was?: number; // shares of the whole in the build compared with, and in this one
    now?: number;
    children: FlameNode[];
}

interface Box {
    node: FlameNode;
    x: number;
    depth: number;
    parent: Box | null;
}

const ROW = 19;

export function isSystem(name: string): boolean {
    return /^(\[|lib(c|art|m|log|binder|utils|EGL|GLES\w*|vulkan)\.so|java\.|android\.|com\.android\.|dalvik\.|kotlin\.|libobjc|UIKit|QuartzCore|libsystem)/.test(name);
}

function hash(name: string): number {
    let h = 7;
    for (let i = 0; i < name.length; i++) h = (h * 31 + name.charCodeAt(i)) >>> 0;
    return h;
}

// Names on the way to a box, each as a few digits of its hash: short enough for an address, and good for
// another tree that has them.
const keyOf = (name: string) => (hash(name) % 36 ** 5).toString(36);
const pathTo = (box: Box): string[] => (box.parent ? [...pathTo(box.parent), box.node.name] : []);

export class Flame {
    private readonly canvas = document.createElement('canvas');
    private readonly tip = document.createElement('div');
    private readonly watch: ResizeObserver;
    private rows: Box[][] = [];
    private root: FlameNode = { name: '', total: 0, self: 0, children: [] };
    private zoomed: Box | null = null;
    private over: Box | null = null;
    private find = '';
    private width = 0;
    private unit = '';
    private colour = palette();

    constructor(
        private readonly host: HTMLElement,
        private readonly onZoom: (path: string[], keys: string) => void,
    ) {
        this.tip.className = 'charttip';
        this.tip.hidden = true;
        host.append(this.canvas, this.tip);
        this.canvas.addEventListener('mousemove', (e) => this.hover(e));
        this.canvas.addEventListener('mouseleave', () => this.leave());
        this.canvas.addEventListener('click', (e) => {
            const box = this.at(e);
            if (box) this.zoom(box);
        });
        this.canvas.addEventListener('dblclick', () => this.zoom(this.rows[0]?.[0] ?? null));
        this.watch = new ResizeObserver(() => this.resize());
        this.watch.observe(host);
    }

    destroy() {
        this.watch.disconnect();
        this.host.textContent = '';
    }

    // keys: what onZoom told, or nothing for all of it.
    set(root: FlameNode, find: string, unit: string, keys: string) {
        this.unit = unit;
        this.root = root;
        this.find = find.toLowerCase();
        this.rows = [];
        const place = (node: FlameNode, depth: number, x: number, parent: Box | null) => {
            const box = { node, x, depth, parent };
            (this.rows[depth] ??= []).push(box);
            let at = x;
            for (const child of node.children) {
                place(child, depth + 1, at, box);
                at += child.total;
            }
        };
        place(root, 0, 0, null);
        this.zoomed = this.rows[0][0];
        this.width = 0;
        this.resize();
        this.show(keys);
    }

    // As far down as the tree has these names.
    show(keys: string) {
        let box = this.rows[0]?.[0] ?? null;
        for (const key of keys ? keys.split('.') : []) {
            const child: Box | undefined = this.rows[box!.depth + 1]?.find((b) => b.parent === box && keyOf(b.node.name) === key);
            if (!child) break;
            box = child;
        }
        if (box !== this.zoomed) this.zoom(box);
    }

    search(find: string): number {
        this.find = find.toLowerCase();
        this.draw();
        let found = 0;
        const walk = (node: FlameNode) => {
            if (this.find && node.name.toLowerCase().includes(this.find)) found += node.total;
            else node.children.forEach(walk);
        };
        walk(this.root);
        return this.root.total ? found / this.root.total : 0;
    }

    // By keys: into the widest child, out, to the sides.
    step(way: 'in' | 'out' | 'left' | 'right') {
        const at = this.zoomed;
        if (!at) return;
        if (way === 'out') this.zoom(at.parent ?? at);
        else if (way === 'in') {
            const child = this.rows[at.depth + 1]?.find((b) => b.parent === at);
            if (child) this.zoom(child);
        } else {
            const row = this.rows[at.depth];
            const next = row[row.indexOf(at) + (way === 'left' ? -1 : 1)];
            if (next) this.zoom(next);
        }
    }
    all = () => this.zoom(this.rows[0]?.[0] ?? null);

    private zoom(box: Box | null) {
        if (!box) return;
        this.zoomed = box;
        this.draw();
        const path = pathTo(box);
        this.onZoom(path, path.map(keyOf).join('.'));
    }

    private resize() {
        const width = this.host.clientWidth - 32;
        if (width < 40 || width === this.width || !this.rows.length) return;
        const r = devicePixelRatio || 1;
        this.width = width;
        this.canvas.width = width * r;
        this.canvas.height = this.rows.length * ROW * r;
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${this.rows.length * ROW}px`;
        this.draw();
    }

    private fill(node: FlameNode, depth: number, dark: boolean): string {
        if (this.find && node.name.toLowerCase().includes(this.find)) return this.colour('accent');
        if (depth === 0) return this.colour('sunk');
        if (node.was !== undefined) {
            const d = (node.now ?? 0) - node.was;
            const strong = Math.min(1, Math.sqrt(Math.abs(d) * 6));
            const grey = dark ? 30 : 90;
            if (Math.abs(d) < 0.0005) return `hsl(215 10% ${grey}%)`;
            return d > 0
                ? `hsl(24 ${40 + 45 * strong}% ${dark ? 30 + 12 * strong : 90 - 30 * strong}%)`
                : `hsl(205 ${35 + 40 * strong}% ${dark ? 30 + 12 * strong : 90 - 30 * strong}%)`;
        }
        const h = hash(node.name);
        if (isSystem(node.name)) return `hsl(215 ${dark ? 10 : 16}% ${dark ? 30 + (h % 5) : 82 + (h % 6)}%)`;
        return `hsl(${30 + (h % 18)} ${dark ? 38 : 72}% ${dark ? 33 + (h % 7) : 76 + (h % 8)}%)`;
    }

    private draw() {
        this.colour = palette();
        const g = this.canvas.getContext('2d')!;
        const r = devicePixelRatio || 1;
        const z = this.zoomed!;
        const dark = document.documentElement.dataset.theme === 'dark';
        const k = this.width / Math.max(1, z.node.total);
        const text = this.colour('text');
        const onAccent = this.colour('on-accent');
        g.setTransform(r, 0, 0, r, 0, 0);
        g.clearRect(0, 0, this.width, this.rows.length * ROW);
        g.font = '12px ui-monospace, Menlo, "DejaVu Sans Mono", monospace';
        g.textBaseline = 'middle';
        for (const row of this.rows) {
            let lastPixel = -1;
            for (const box of row) {
                const from = (box.x - z.x) * k;
                const to = from + box.node.total * k;
                if (to <= 0 || from >= this.width) continue;
                const a = Math.max(0, from);
                const w = Math.min(this.width, to) - a;
                if (w < 1) {
                    if ((a | 0) === lastPixel) continue;
                    lastPixel = a | 0;
                }
                const y = box.depth * ROW;
                const fill = this.fill(box.node, box.depth, dark);
                g.fillStyle = fill;
                g.globalAlpha = box.depth < z.depth ? 0.55 : 1;
                g.fillRect(a, y, Math.max(0.6, w - 0.8), ROW - 1);
                g.globalAlpha = 1;
                if (box === this.over) {
                    g.strokeStyle = text;
                    g.strokeRect(a + 0.5, y + 0.5, Math.max(0.5, w - 1.8), ROW - 2);
                }
                if (w < 28) continue;
                const room = Math.floor((w - 10) / 7.25);
                const name = box.depth ? box.node.name : box.node.was === undefined ? `${t('all')}: ${num(box.node.total)} ${this.unit}` : t('all');
                g.fillStyle = fill === this.colour('accent') ? onAccent : text;
                g.fillText(name.length > room ? `${name.slice(0, Math.max(1, room - 1))}…` : name, a + 5, y + ROW / 2);
            }
        }
    }

    private at(e: MouseEvent): Box | null {
        const b = this.canvas.getBoundingClientRect();
        const z = this.zoomed;
        const row = this.rows[Math.floor((e.clientY - b.top) / ROW)];
        if (!row || !z) return null;
        const x = z.x + ((e.clientX - b.left) / this.width) * z.node.total;
        return row.find((box) => x >= box.x && x < box.x + box.node.total) ?? null;
    }

    private leave() {
        this.tip.hidden = true;
        this.over = null;
        this.draw();
    }

    private hover(e: MouseEvent) {
        const box = this.at(e);
        if (box !== this.over) {
            this.over = box;
            this.draw();
        }
        this.tip.hidden = !box;
        if (!box) return;
        const share = box.node.total / Math.max(1, this.root.total);
        const name = box.node.name || t('all');
        const self = percent(box.node.self / Math.max(1, this.root.total));
        this.tip.textContent =
            box.node.was === undefined
                ? `${name}\n${t('{n} {unit} · {share} of all · {self} itself', { n: num(box.node.total), unit: this.unit, share: percent(share), self })}`
                : `${name}\n${t('{was} of the baseline → {now} of this build', { was: percent(box.node.was), now: percent(box.node.now) })}`;
        const b = this.host.getBoundingClientRect();
        const x = e.clientX - b.left;
        this.tip.style.left = x > b.width * 0.6 ? 'auto' : `${x + 14}px`;
        this.tip.style.right = x > b.width * 0.6 ? `${b.width - x + 14}px` : 'auto';
        this.tip.style.top = `${e.clientY - b.top + 18}px`;
    }
}

// Functions by what they and their callees take.
export function functions(root: FlameNode): { name: string; total: number; self: number }[] {
    const all = new Map<string, { name: string; total: number; self: number }>();
    const walk = (node: FlameNode, above: Set<string>) => {
        let own = all.get(node.name);
        if (!own) all.set(node.name, (own = { name: node.name, total: 0, self: 0 }));
        own.self += node.self;
        const first = !above.has(node.name);
        if (first) {
            own.total += node.total;
            above.add(node.name);
        }
        for (const child of node.children) walk(child, above);
        if (first) above.delete(node.name);
    };
    for (const child of root.children) walk(child, new Set());
    return [...all.values()].sort((a, b) => b.total - a.total);
}
