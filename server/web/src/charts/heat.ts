// Cells of a map as a heat map on a canvas, over the map's picture if there is one. Darker (in the
// light) or brighter (in the dark) is worse; one hue, so that it reads for every kind of colour vision.
import { num, percent } from '../lib/format';
import { t } from '../lib/i18n';
import { colour } from '../lib/theme';

export interface Cell {
    x: number;
    y: number;
    visits: number;
    janky_visits: number;
    jank_ms: number;
    dwell_ms: number;
    jank_share: number;
    jank_ms_per_visit: number;
}

const PAD = 8;
const TALLEST = 620;

export class HeatMap {
    private readonly canvas = document.createElement('canvas');
    private readonly tip = document.createElement('div');
    private readonly watch: ResizeObserver;
    private cells: Cell[] = [];
    private by: 'jank_share' | 'jank_ms_per_visit' = 'jank_share';
    private picture: { image: CanvasImageSource; box: [number, number, number, number] } | null = null;
    private size = 1;
    private scale = 1;
    private left = 0;
    private bottom = 0;

    constructor(private readonly host: HTMLElement) {
        this.tip.className = 'charttip';
        this.tip.hidden = true;
        host.append(this.canvas, this.tip);
        this.canvas.addEventListener('mousemove', (e) => this.hover(e));
        this.canvas.addEventListener('mouseleave', () => (this.tip.hidden = true));
        this.watch = new ResizeObserver(() => this.draw());
        this.watch.observe(host);
    }

    destroy() {
        this.watch.disconnect();
        this.host.textContent = '';
    }

    // box: the picture's place in the map's own units: left, bottom, right, top.
    set(cells: Cell[], size: number, by: 'jank_share' | 'jank_ms_per_visit', picture: { image: CanvasImageSource; box: [number, number, number, number] } | null) {
        this.cells = cells;
        this.size = size;
        this.by = by;
        this.picture = picture;
        this.draw();
    }

    private draw() {
        const width = this.host.clientWidth - 32;
        if (width < 40 || !this.cells.length) return;
        const xs = this.cells.map((c) => c.x);
        const ys = this.cells.map((c) => c.y);
        let [l, b, r, top] = [Math.min(...xs), Math.min(...ys), Math.max(...xs) + 1, Math.max(...ys) + 1].map((v) => v * this.size);
        if (this.picture) {
            const box = this.picture.box;
            [l, b, r, top] = [Math.min(l, box[0]), Math.min(b, box[1]), Math.max(r, box[2]), Math.max(top, box[3])];
        }
        this.scale = Math.min((width - 2 * PAD) / (r - l), (TALLEST - 2 * PAD) / (top - b));
        this.left = l;
        this.bottom = b;
        const height = Math.round((top - b) * this.scale + 2 * PAD);
        const ratio = devicePixelRatio || 1;
        const wide = Math.round((r - l) * this.scale + 2 * PAD);
        this.canvas.width = wide * ratio;
        this.canvas.height = height * ratio;
        this.canvas.style.width = `${wide}px`;
        this.canvas.style.height = `${height}px`;
        const g = this.canvas.getContext('2d')!;
        g.setTransform(ratio, 0, 0, ratio, 0, 0);
        g.fillStyle = colour('sunk');
        g.fillRect(0, 0, wide, height);
        const x = (v: number) => PAD + (v - l) * this.scale;
        const y = (v: number) => height - PAD - (v - b) * this.scale;
        if (this.picture) {
            const [pl, pb, pr, pt] = this.picture.box;
            g.globalAlpha = 0.55;
            g.drawImage(this.picture.image, x(pl), y(pt), (pr - pl) * this.scale, (pt - pb) * this.scale);
            g.globalAlpha = 1;
        }
        const most = Math.max(1e-9, ...this.cells.map((c) => c[this.by]));
        const side = Math.max(1, this.size * this.scale);
        for (const c of this.cells) {
            const v = Math.sqrt(c[this.by] / most);
            g.fillStyle = colourOf(v);
            g.fillRect(x(c.x * this.size), y((c.y + 1) * this.size), side - (side > 6 ? 1 : 0), side - (side > 6 ? 1 : 0));
        }
    }

    private hover(e: MouseEvent) {
        const box = this.canvas.getBoundingClientRect();
        const x = Math.floor(((e.clientX - box.left - PAD) / this.scale + this.left) / this.size);
        const y = Math.floor(((box.bottom - e.clientY - PAD) / this.scale + this.bottom) / this.size);
        const c = this.cells.find((o) => o.x === x && o.y === y);
        this.tip.hidden = !c;
        if (!c) return;
        this.tip.textContent = t('{x}, {y}\n{share} of {n} visits with a jank\n{ms} ms of jank a visit', {
            x: num(x * this.size),
            y: num(y * this.size),
            share: percent(c.jank_share),
            n: num(c.visits),
            ms: num(c.jank_ms_per_visit),
        });
        const host = this.host.getBoundingClientRect();
        const at = e.clientX - host.left;
        this.tip.style.left = at > host.width * 0.6 ? 'auto' : `${at + 14}px`;
        this.tip.style.right = at > host.width * 0.6 ? `${host.width - at + 14}px` : 'auto';
        this.tip.style.top = `${e.clientY - host.top + 14}px`;
    }
}

// 0 calm … 1 worst.
export function colourOf(v: number): string {
    const dark = document.documentElement.dataset.theme === 'dark';
    return dark ? `hsl(${42 - 26 * v} ${30 + 60 * v}% ${20 + 44 * v}%)` : `hsl(${44 - 30 * v} ${50 + 40 * v}% ${92 - 52 * v}%)`;
}
